"""How well chains have mixed, from their draws alone: one figure a file.

Draws are tensors `(chains, draws)` or `(chains, draws, *coords)`, on any device; figures are float64, one a coordinate.
They are those of arviz 0.23, except for a coordinate that never moves: of that all are NaN here, where arviz takes all
its draws to be independent.
"""
