"""Torch modules of the objectives."""
