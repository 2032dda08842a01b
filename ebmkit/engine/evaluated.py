"""Energy and score of the model with the weights that are sampled and measured."""

from __future__ import annotations

import math
from typing import cast

import torch
from torch import Tensor, nn

from ebmkit.chains.energy import frozen
from ebmkit.components.models.nets.class_energy import ClassEnergy
from ebmkit.components.models.nets.conditional import Labelled
from ebmkit.contracts.abilities import Scores
from ebmkit.contracts.kinds import Schedule
from ebmkit.engine.parts import Parts
from ebmkit.language.plan import Plan
from ebmkit.maths.process import least_noise

#: States per block on a CPU. Measured on a 2-128-128-1 network: blocks whose activations stay in the caches are 1.5
#: times as fast as 10,000 chains at once.
CPU_ROWS = 4096
#: Numbers in the states of one block, so that blocks of images fit into memory.
BLOCK = 1 << 24


class Evaluated:
    """The model of a run, evaluated in blocks and without a graph."""

    def __init__(self, plan: Plan, parts: Parts) -> None:
        self.plan = plan
        self.parts = parts

    @property
    def rows(self) -> int:
        """The number of states per block."""
        rows = max(1, BLOCK // max(1, math.prod(self.plan.event)))
        return min(rows, CPU_ROWS) if self.parts.device.type == "cpu" else rows

    @property
    def has_energy(self) -> bool:
        """Whether the model maps a state, without a noise level or time, to an energy."""
        traits = self.plan.spec.model.traits()
        return "energy" in traits.offers and traits.conditioning is None

    @property
    def schedule(self) -> Schedule | None:
        """The noise schedule of a conditioned model, with the values derived from data; None for other models."""
        conditioned = "score" in self.plan.spec.model.traits().offers
        return cast("Scores", self.parts.evaluated).schedule if conditioned else None

    def energy(self, x: Tensor, level: float | None = None) -> Tensor:
        """Energies `(B,)`; for a conditioned model at a noise level or time, by default that of the least noise.

        Infinity stands for a probability of zero; NaN and minus infinity raise a FloatingPointError.
        """
        found = self.raw_energy(x, level)
        return _checked("energy", found, found > -torch.inf)  # false for NaN

    def raw_energy(self, x: Tensor, level: float | None = None) -> Tensor:
        """The same, whatever the energies are."""
        blocks = torch.split(x.to(self.parts.device, self.parts.dtype), self.rows)
        with frozen(self.parts.evaluated) as energy, torch.no_grad():
            if self.schedule is None:
                return torch.cat([energy(block) for block in blocks])
            at = blocks[0].new_full((), least_noise(self.schedule) if level is None else level)
            return torch.cat([energy.module(block, at) for block in blocks])

    def score(self, x: Tensor, level: float | None = None, labels: Tensor | None = None) -> Tensor:
        """`-dE/dx`, the direction in which states become more likely.

        A conditioned model has one for every noise level or time; the default is that of the least noise. If the model
        takes labels or is a classifier, `labels` are those of the states. Raises a FloatingPointError if the score is
        not finite.
        """
        found = self._score(x, level, labels)
        return _checked("score", found, found.flatten(1).isfinite().all(1))

    def _score(self, x: Tensor, level: float | None, labels: Tensor | None) -> Tensor:
        blocks = torch.split(x.to(self.parts.device, self.parts.dtype), self.rows)
        named = [None] * len(blocks) if labels is None else torch.split(labels.to(blocks[0].device), self.rows)
        if self.schedule is None:
            return torch.cat([self._slope(block, some) for block, some in zip(blocks, named, strict=True)])
        with frozen(self.parts.evaluated) as energy, torch.no_grad():
            module = cast("Scores", energy.module)
            at = x.new_full((), least_noise(self.schedule) if level is None else level).to(blocks[0])
            return torch.cat([module.score(block, at, some) for block, some in zip(blocks, named, strict=True)])

    def with_labels(self, labels: Tensor | None) -> nn.Module:
        """The model as a function of the state alone, for chains: with these labels if it takes any, or for a
        classifier the energy of these classes."""
        module = self.parts.evaluated
        if labels is None:
            return module
        if self.schedule is None:
            return ClassEnergy(module, labels)
        return Labelled(cast("Scores", module), labels)

    def _slope(self, x: Tensor, labels: Tensor | None) -> Tensor:
        with frozen(self.with_labels(labels)) as energy, torch.no_grad():
            return -energy.value_and_grad(x)[1]


def _checked(what: str, values: Tensor, valid: Tensor) -> Tensor:
    """The values, of which row i is valid if `valid[i]`."""
    if not bool(valid.all()):
        lost = int((~valid).sum())
        raise FloatingPointError(f"the {what} of the model is not finite at {lost} of {len(valid)} states")
    return values
