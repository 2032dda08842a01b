"""Suggestion of noise levels for the data of a spec."""
