"""Samplers: Markov chains, reverse diffusions and exact draws, one per file."""
