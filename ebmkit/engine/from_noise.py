"""Chains that go once from noise to a sample: inpainting, and trajectories."""

from __future__ import annotations

import itertools
from typing import Any

import torch
from torch import Generator, Tensor

from ebmkit.chains.chain import run_chain
from ebmkit.contracts.kinds import Sampler
from ebmkit.engine.conditioning import Condition
from ebmkit.engine.evaluated import Evaluated


def inpainted(evaluated: Evaluated, known: Tensor, mask: Tensor, rng: Generator, labels: Tensor | None) -> Tensor:
    """States `(n, *event)`: `known` where the mask, of the shape of one state, is true, and elsewhere drawn by the
    sampler of the spec. If the model takes labels, `labels` are those of the states."""
    sampler, rows, blocks, parts = _sampler(evaluated), evaluated.rows, [], evaluated.parts
    for first in range(0, len(known), rows):
        condition = Condition(known=known[first : first + rows].to(parts.device), mask=mask)
        within = condition.within(parts.units, parts.dtype)
        assert within.known is not None
        start = within.known.to(parts.dtype)
        module = evaluated.with_labels(None if labels is None else labels[first : first + rows].to(start.device))
        project = within.projection(0, start, evaluated.schedule)
        drawn = parts.units.out_of(run_chain(sampler, module, start, rng, project=project).x)
        blocks.append(condition.with_known(drawn))
    return torch.cat(blocks)


def trajectory(
    evaluated: Evaluated, n: int, moments: int, labels: Tensor | None, rng: Generator
) -> list[tuple[float | None, Tensor]]:
    """The way of `n` new chains from noise to samples: noise level or time, and states, at this many moments evenly
    spaced from the first step to the last. The level is None for clean states."""
    sampler, parts = _sampler(evaluated), evaluated.parts
    wanted = {round(k * sampler.steps / (moments - 1)) for k in range(moments)}
    seen = itertools.count()
    found: list[tuple[float | None, Tensor]] = []

    def record(state: Any, rng: Generator) -> Any:
        if next(seen) in wanted:
            found.append((state.level, parts.units.out_of(state.x.clone())))
        return state

    start = torch.zeros(n, *evaluated.plan.event, device=parts.device, dtype=parts.dtype)
    run_chain(sampler, evaluated.with_labels(labels), start, rng, project=record)
    return found


def _sampler(evaluated: Evaluated) -> Sampler:
    """The sampler of the spec, whose chains must go once from noise to a sample."""
    sampler = evaluated.plan.chain_sampler
    if sampler is None or not sampler.traits().from_noise or evaluated.schedule is None:
        raise ValueError("the spec has no sampler that goes from noise to samples, such as 'reverse_sde'")
    return sampler
