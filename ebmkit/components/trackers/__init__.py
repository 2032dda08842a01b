"""Destinations of measurements: one tracker per file."""
