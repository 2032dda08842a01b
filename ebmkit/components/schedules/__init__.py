"""Noise levels: one schedule a file."""
