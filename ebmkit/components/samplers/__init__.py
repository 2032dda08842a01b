"""Markov chains and direct draws: one sampler a file."""
