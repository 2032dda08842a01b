"""Energies that metrics build, as torch modules."""
