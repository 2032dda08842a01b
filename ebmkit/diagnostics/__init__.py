"""Convergence diagnostics of chains, computed from their draws: one diagnostic per file.

Draws are tensors `(chains, draws)` or `(chains, draws, *coords)`, on any device; diagnostics are float64, one per
coordinate. They agree with arviz 0.23, except for a constant coordinate: all its diagnostics are NaN here, whereas
arviz treats its draws as independent.
"""
