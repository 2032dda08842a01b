"""Exact draws, with which samples are compared."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.abilities import SampleExact
    from ebmkit.engine.run_view import RunView

POINTS = 10_000
#: Maximum number of values in all draws, so that images do not fill the memory.
NUMBERS = 1 << 24


def has_exact(view: RunView) -> bool:
    """Whether the target of a sampling experiment can be sampled directly."""
    spec = view.plan.spec
    sampler = view.plan.chain_sampler
    if spec.stages or (sampler and sampler.traits().searches):
        return False
    return "sample_exact" in spec.model.traits().offers and temperature(view) == 1


def exact_draws(view: RunView, most: int = POINTS) -> Tensor:
    """Independent draws on the CPU, the same in every panel."""
    import torch

    module = cast("SampleExact", view.parts.evaluated)
    count = min(most, max(1, NUMBERS // max(1, prod(view.event))))
    with torch.no_grad():
        return module.sample_exact(count, view.streams.generator("report/exact")).cpu()


def temperature(view: RunView) -> float:
    """T of the distribution exp(-E/T) that chains sample."""
    sampler = view.plan.chain_sampler
    return sampler.traits().temperature if sampler else 1.0
