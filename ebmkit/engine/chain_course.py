"""The course of new chains: their visible states at some steps."""

from __future__ import annotations

import itertools
from math import prod
from typing import Any

import torch
from torch import Generator, Tensor

from ebmkit.chains.chain import run_chain
from ebmkit.engine.chain_starts import ChainStarts
from ebmkit.engine.evaluated import Evaluated


def chain_course(evaluated: Evaluated, n: int, moments: int, rng: Generator) -> list[tuple[int, Tensor]]:
    """`n` new chains of the sampler of the spec: the number of steps done, and states `(n, *event)` in the units of the
    data, at their start and at about this many later moments. The first ones are close together, in ratios."""
    sampler, event, units = evaluated.plan.chain_sampler, evaluated.plan.event, evaluated.parts.units
    if sampler is None:
        raise ValueError("the spec has no sampler, so there are no chains")
    starts = ChainStarts(evaluated)
    start = starts.draw_finite(min(n, starts.rows), rng)
    wanted, seen = moments_of(sampler.steps, moments), itertools.count()
    found = [(0, units.out_of(start.clone()))]

    def record(state: Any, rng: Generator) -> Any:
        if (step := next(seen)) in wanted:
            visible = state.x.flatten(1)[:, : prod(event)]  # hidden units, if there are any, come after them
            found.append((step, units.out_of(visible.reshape(-1, *event).clone())))
        return state

    run_chain(sampler, evaluated.with_labels(None), start, rng, project=record, starts=starts.source)
    return found


def moments_of(steps: int, count: int) -> list[int]:
    """At most this many numbers of steps from 1 to `steps`, whose ratios are about equal; the last is `steps`."""
    ratios = torch.linspace(0, 1, count, dtype=torch.float64, device="cpu").tolist() if count > 1 else [1.0]
    return sorted({round(steps**ratio) for ratio in ratios})
