"""Distributions to contrast data with: one a file."""
