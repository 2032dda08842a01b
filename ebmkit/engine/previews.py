"""Previews: small sets of samples, kept during training for the report."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import NamedTuple

from ebmkit.contracts.states import can_be_pictured
from ebmkit.language.plan import Plan

#: With `samples_every: auto`: at most this many sets, which cost at most this fraction of the training.
SETS, FRACTION = 9, 0.1
#: The fewest and the most samples of a set: of small states, and of images.
POINTS, IMAGES = (64, 500), (16, 64)
#: A step of a chain costs as much as this many additional rows, however few it has. Measured for a 2-128-128-1 network;
#: for larger networks it is less.
OVERHEAD = 100


class Previews(NamedTuple):
    """The steps after which samples are kept, and the number of samples."""

    steps: range | frozenset[int] = frozenset()
    samples: int = 0
    #: Why there are none although the report could show them.
    reason: str = ""


def plan_previews(plan: Plan, points: int) -> Previews:
    """The previews of a training on this many points.

    With `auto` their number and size follow from counts of model evaluations, not from the clock: a run that is
    repeated or resumed keeps the same files.
    """
    spec = plan.spec
    few, many = (min(spec.samples, size) for size in (POINTS if prod(plan.event) <= 16 else IMAGES))
    if plan.chain_sampler is None or spec.samples_every is None or not spec.stages:
        return Previews()
    if spec.samples_every != "auto":
        return Previews(range(spec.samples_every, spec.steps, spec.samples_every), many)
    if not can_be_pictured(plan.event) or spec.steps < 2:  # of one step, only the final samples can be shown
        return Previews()
    budget = FRACTION * training_cost(plan, points)
    sets = min(SETS, spec.steps - 1, int(budget // preview_cost(plan, few)))
    if sets < 1:
        return Previews(reason="one set would cost more than a tenth of the training; 'samples_every: N' keeps them")
    count = next(n for n in range(many, few - 1, -1) if sets * preview_cost(plan, n) <= budget)
    return Previews(frozenset(spec.steps * k // (sets + 1) for k in range(1, sets + 1)), count)


def kept_at(folder: Path, step: int) -> Path:
    """The file of the samples of a step of training."""
    return folder / "samples" / f"step-{step:06d}.safetensors"


def training_cost(plan: Plan, points: int) -> float:
    """Evaluations of the model in training, at least: one is of the energy and its gradient in x, at one state."""
    cost = 0.0
    for index, stage in enumerate(plan.spec.stages):
        objective = plan.spec.objective_of(index)
        assert objective is not None  # checked by resolve
        cost += stage.steps * min(stage.batch_size, points) * objective.traits().evaluations
    return cost


def preview_cost(plan: Plan, count: int) -> float:
    """Evaluations of the model for one set of samples, at most, in the same unit."""
    sampler, chains = plan.chain_sampler, plan.spec.chains
    assert sampler is not None
    traits = sampler.traits()
    rows, steps = (chains.count, chains.length(sampler, plan.spec.samples)) if chains else (count, sampler.steps)
    each = traits.evaluations * (prod(plan.event) if traits.by_unit else 1)
    return (rows + OVERHEAD) * (steps * each + 2)  # two more for the first and the last state
