"""Samplers that break one law each."""

import itertools
from typing import NamedTuple

import torch

from ebmkit.api import StepInfo, component
from ebmkit.components.samplers.gibbs import Gibbs, GibbsState
from ebmkit.components.samplers.langevin import LangevinState
from ebmkit.testing.laws import sampler as laws
from tests.testing.planted_devices import Drift, Item


@component("single")
class Single(Drift):
    def kept(self, x):
        return x.float()


@component("summary")
class Summary(Drift):
    def step(self, energy, state, rng):
        state, info = super().step(energy, state, rng)
        return state, StepInfo(info.energy.mean(), info.gradient)


@component("unannounced")
class Unannounced(Drift):
    traces = frozenset({"energy"})


@component("announced_only")
class AnnouncedOnly(Drift):
    traces = frozenset({"energy", "gradient_norm", "acceptance"})


@component("own_seeds")
class OwnSeeds(Drift):
    seeds = itertools.count()

    def noise(self, x, rng):
        return torch.empty_like(x).normal_(generator=torch.Generator().manual_seed(next(self.seeds)))


@component("global_noise")
class GlobalNoise(Drift):
    def noise(self, x, rng):
        return torch.randn_like(x)


@component("in_place")
class InPlace(Drift):
    def init(self, energy, x, rng):
        return LangevinState(x.add_(self.noise(x, rng)))


@component("teacher")
class Teacher(Drift):
    def step(self, energy, state, rng):
        for parameter in energy.module.parameters():
            parameter.data *= 1.01
        return super().step(energy, state, rng)


@component("leaves_gradients")
class LeavesGradients(Drift):
    def step(self, energy, state, rng):
        for parameter in energy.module.parameters():
            parameter.grad = torch.zeros_like(parameter)
        return super().step(energy, state, rng)


@component("writes_to_its_state")
class WritesToItsState(Drift):
    def step(self, energy, state, rng):
        moved, info = super().step(energy, state, rng)
        state.x.copy_(moved.x)
        return state, info


@component("huddling")
class Huddling(Drift):
    def kept(self, x):
        return x - 0.1 * x.mean(0)


@component("with_a_graph")
class WithAGraph(Drift):
    def step(self, energy, state, rng):
        x = state.x.detach().requires_grad_()
        value = energy.module(x)
        return super().step(energy, state, rng)[0], StepInfo(value)


@component("too_hot")
class TooHot(Drift):
    def noise(self, x, rng):
        return torch.empty_like(x).normal_(0, 2 * 0.02**0.5, generator=rng)


@component("claims_to_be_exact")
class ClaimsToBeExact(Drift):
    """Too coarse, and says that it refuses, as exact samplers do."""

    def size(self, x):
        return 0.1

    def noise(self, x, rng):
        return torch.empty_like(x).normal_(0, 0.2**0.5, generator=rng)

    def step(self, energy, state, rng):
        state, info = super().step(energy, state, rng)
        return state, StepInfo(info.energy, acceptance=torch.ones_like(info.energy))


@component("lukewarm")
class Lukewarm(Gibbs):
    """Conditionals at another temperature than the target's."""

    def step(self, energy, state, rng):
        return super().step(energy.at(torch.full_like(state.x.flatten(1)[:, 0], 1.15)), state, rng)


@component("moves_its_neighbours")
class MovesItsNeighbours(Gibbs):
    """One unit takes the value that it had in the first chain, which after some steps is where it would be anyway."""

    def step(self, energy, state, rng):
        moved, info = super().step(energy, state, rng)
        x = moved.x.clone()
        x.flatten(1)[1:, 0] = state.x.flatten(1)[0, 0]
        return GibbsState(x), info


class WithAGenerator(NamedTuple):
    x: torch.Tensor
    rng: torch.Generator


@component("keeps_a_generator")
class KeepsAGenerator(Drift):
    """Its state has a part that no file can hold."""

    def init(self, energy, x, rng):
        return WithAGenerator(x, torch.Generator().manual_seed(0))

    def step(self, energy, state, rng):
        moved, info = super().step(energy, LangevinState(state.x), rng)
        return WithAGenerator(moved.x, state.rng), info


@component("remembers_elsewhere")
class RemembersElsewhere(Drift):
    """Every third step is a longer one, but its state does not say which."""

    turns = itertools.count()

    def size(self, x):
        return 0.02 if next(self.turns) % 3 == 0 else 0.01


@component("evaluates_more")
class EvaluatesMore(Drift):
    """Two evaluations in a step, one of them for nothing."""

    def step(self, energy, state, rng):
        energy(state.x)
        return super().step(energy, state, rng)


@component("claims_to_interact")
class ClaimsToInteract(Drift):
    def traits(self):
        return super().traits()._replace(interacting=True)


PLANTED = [
    (laws.chains_are_independent, ClaimsToInteract()),
    (laws.evaluates_no_more_than_announced, EvaluatesMore()),
    (laws.keeps_shape_and_dtype, Single()),
    (laws.reports_what_a_step_saw, Summary()),
    (laws.reports_what_a_step_saw, Unannounced()),
    (laws.reports_what_a_step_saw, AnnouncedOnly()),
    (laws.is_deterministic, OwnSeeds()),
    (laws.uses_no_global_randomness, GlobalNoise()),
    (laws.leaves_its_start_alone, InPlace()),
    (laws.leaves_the_model_alone, Teacher()),
    (laws.leaves_the_model_alone, LeavesGradients()),
    (laws.steps_are_pure, WritesToItsState()),
    (laws.continues_from_a_checkpoint, RemembersElsewhere()),
    (laws.continues_from_a_checkpoint, KeepsAGenerator()),
    (laws.chains_are_independent, Huddling()),
    (laws.builds_no_graph, WithAGraph()),
    (laws.keeps_the_target, TooHot()),
    (laws.keeps_the_target, ClaimsToBeExact()),
    (laws.keeps_the_target, Lukewarm()),
    (laws.keeps_the_target_when_heated, Lukewarm()),
    (laws.chains_are_independent, MovesItsNeighbours()),
    (laws.runs_on_the_device, Item()),
]
