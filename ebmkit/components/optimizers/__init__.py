"""Optimizers of torch: one per file."""
