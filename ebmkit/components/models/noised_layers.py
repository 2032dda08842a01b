"""The number of parameters of fully connected networks that take a noise level. Without torch."""

from __future__ import annotations

from collections.abc import Sequence

from ebmkit.maths.parameter_counts import dense, noise_embedding


def noised_dense(inputs: int, hidden: Sequence[int], outputs: int, classes: int | None) -> int:
    """The layers, and the embedding of noise level and label, which is added to the inputs of every activation."""
    width = max(hidden)
    return dense([inputs, *hidden, outputs]) + noise_embedding(width, classes) + width * sum(hidden)
