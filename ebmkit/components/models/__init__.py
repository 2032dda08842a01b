"""Energies: one model a file."""
