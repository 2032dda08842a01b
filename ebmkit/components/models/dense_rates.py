"""Default learning rates of dense networks."""

from __future__ import annotations

from collections.abc import Sequence

#: The rates of an energy and of a score with layers of this width, measured by benchmarks/own_data.py.
WIDTH, ENERGY, SCORE = 128, 1e-2, 3e-3


def energy_rate(widths: Sequence[int]) -> float:
    """The learning rate of an energy with hidden layers of these widths."""
    return ENERGY * _factor(widths)


def score_rate(widths: Sequence[int]) -> float:
    """The learning rate of a network that learns the scores of many noise levels."""
    return SCORE * _factor(widths)


def _factor(widths: Sequence[int]) -> float:
    """Adam changes every weight equally, so the change of a layer's output grows with the width of its input."""
    return min(1.0, WIDTH / max(widths, default=1))
