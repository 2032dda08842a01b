"""Convex generators of ratio matching: one a file."""
