"""Activations with a second derivative. Checked without torch."""

from __future__ import annotations

#: Activations whose second derivative is zero wherever it exists.
PIECEWISE_LINEAR = frozenset({"relu", "leaky_relu"})


def is_smooth(activation: str) -> bool:
    """Whether networks with this activation have a curvature."""
    return activation not in PIECEWISE_LINEAR
