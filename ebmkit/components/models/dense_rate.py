"""The default learning rate of dense networks."""

from __future__ import annotations

from collections.abc import Sequence

#: The rate of networks with layers of at most this width, measured by benchmarks/own_data.py.
WIDTH, RATE = 128, 3e-3


def dense_rate(widths: Sequence[int]) -> float:
    """The learning rate of a network with hidden layers of these widths.

    Adam changes every weight equally, so the change of a layer's output grows with the width of its input.
    """
    return RATE * min(1.0, WIDTH / max(widths, default=1))
