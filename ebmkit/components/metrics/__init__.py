"""Measurements of a run: one a file."""
