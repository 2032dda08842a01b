"""Measurements of a run: one metric per file."""
