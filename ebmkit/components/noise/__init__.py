"""Noise distributions of contrastive objectives, one per file."""
