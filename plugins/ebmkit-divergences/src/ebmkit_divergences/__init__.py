"""Bregman generators from the literature, for ratio matching in ebmkit.

Each is strictly convex on all positive ratios. In float64 the terms of its loss and their gradients are finite for
ratios from 1e-30 to 1e30, with any parameters; in float32, with the default parameters, from 1e-12 to 1e12.
"""

from ebmkit_divergences.alpha import Alpha
from ebmkit_divergences.arithmetic_geometric import ArithmeticGeometric
from ebmkit_divergences.blended_chi_square import BlendedChiSquare
from ebmkit_divergences.jeffreys import Jeffreys
from ebmkit_divergences.k_divergence import KDivergence
from ebmkit_divergences.kaniadakis import Kaniadakis
from ebmkit_divergences.perimeter import Perimeter
from ebmkit_divergences.softplus import Softplus

__all__ = [
    "Alpha",
    "ArithmeticGeometric",
    "BlendedChiSquare",
    "Jeffreys",
    "KDivergence",
    "Kaniadakis",
    "Perimeter",
    "Softplus",
]

#: The version of `ebmkit.api` that this was written for.
EBMKIT_API = 1
