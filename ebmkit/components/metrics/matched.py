"""Equally many samples and data points, so that distances between them are comparable."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View


class Matched(NamedTuple):
    """Points `(n, d)`, flattened."""

    samples: Tensor
    test: Tensor
    train: Tensor


def matched(view: View, n: int) -> Matched:
    """`n` model samples and `n` random points of either split; fewer of each if one of them has fewer."""
    test, train = view.data("test"), view.data("train")
    if test is None or train is None:
        raise ValueError("distances to data need a spec with data")
    samples = view.samples(min(n, len(test), len(train)))
    # A random subset, because files are often sorted by class.
    test, train = (
        x[torch.randperm(len(x), generator=view.rng, device=samples.device)[: len(samples)].to(x.device)]
        for x in (test, train)
    )
    return Matched(*(x.to(samples.device).flatten(1) for x in (samples, test, train)))
