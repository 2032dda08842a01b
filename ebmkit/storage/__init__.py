"""Atomic writes, and formats that other programs read."""
