"""Targets with exact draws, for testing samplers: exp(-E/T) of a model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ebmkit.chains.energy import frozen
from ebmkit.contracts.kinds import Event, Model, Objective, Sampler
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.oracles import enumerated, features, generator, values_of
from ebmkit.testing.partner import build, gaussian, model_for, trainable_models

#: The mean of the Gaussian that samplers are tested with (see `partner.gaussian`).
CENTRE = 0.5


@dataclass(frozen=True)
class Target:
    """`exp(-E/T)` of a model."""

    model: Model
    module: nn.Module
    event: Event
    temperature: float = 1.0

    @property
    def is_gaussian(self) -> bool:
        return self.model == gaussian(self.event)

    @property
    def module_is_discrete(self) -> bool:
        return bool(values_of(self.model))

    def draws(self, n: int, seed: int) -> Tensor:
        """Independent exact draws `(n, *event)`, of a model that offers them or whose states can be enumerated."""
        rng = generator(seed)
        if values_of(self.model) and "energy" in self.model.traits().offers:
            every = enumerated(lambda x: -self.module(x) / self.temperature, self.event, values_of(self.model))
            return every.x[torch.multinomial(every.weights, n, replacement=True, generator=rng)]
        if "sample_exact" not in self.model.traits().offers:
            raise Inapplicable(f"the test model '{self.model.component_name}' has no exact sampler")
        x: Tensor = self.module.sample_exact(n, rng)  # type: ignore[operator]
        if self.temperature == 1:
            return x
        if not self.is_gaussian:
            raise Inapplicable(f"the test model '{self.model.component_name}' has no exact sampler at T = {HOT:g}")
        return CENTRE + math.sqrt(self.temperature) * (x - CENTRE)

    @torch.no_grad()
    def statistics(self, x: Tensor) -> Tensor:
        """Characteristic functions, and energies if the model has them: one row per state."""
        if "energy" not in self.model.traits().offers:
            return features(x)
        return torch.cat([features(x), self.module(x)[:, None]], 1)

    def ended(self, sampler: Sampler, x: Tensor, steps: int, seed: int) -> tuple[Tensor, bool]:
        """The states of chains after some steps from x, and whether the steps report an acceptance."""
        rng, info = generator(seed), None
        with frozen(self.module) as cold:
            heat = torch.full((len(x),), self.temperature, dtype=x.dtype)
            energy = cold if self.temperature == 1 else cold.at(heat)
            state = sampler.init(energy, x, rng)
            for _ in range(steps):
                state, info = sampler.step(energy, state, rng)
        return state.x, info is not None and info.acceptance is not None


#: The temperature at which samplers are tested that can run inside parallel tempering.
HOT = 3.0


def known_target_for(objective: Objective, event: Event, partners: tuple[Model, ...]) -> Target:
    """A target for an objective: the first model that it can train and that has exact draws."""
    for model in trainable_models(objective, event, partners):
        try:
            target = Target(model, build(model, event), event)
            target.draws(1, 0)
        except Inapplicable:
            continue
        if any(parameter.requires_grad for parameter in target.module.parameters()):
            return target
    raise Inapplicable("no known model with exact draws has what it needs")


def target_for(sampler: Sampler, event: Event, partners: tuple[Model, ...], temperature: float = 1.0) -> Target:
    """A target for a sampler, at the temperature that it samples at."""
    model, event = model_for(sampler, event, partners)
    return Target(model, build(model, event), event, temperature)
