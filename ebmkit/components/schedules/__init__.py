"""Noise schedules: one per file."""
