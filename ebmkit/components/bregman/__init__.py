"""Bregman generators of ratio matching: one per file."""
