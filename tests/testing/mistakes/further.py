"""Mistakes of another nature than the laws were first written for."""

import math
from typing import ClassVar

import torch

from ebmkit.api import Bregman, Dataset, Loss, Model, Objective, Sampler, StepInfo, component
from ebmkit.components.samplers.langevin import LangevinState
from ebmkit.contracts.modules.contest import Contest
from tests.testing.mistakes.models import exact_normaliser, planted_model, planted_noise
from tests.testing.mistakes.others import Cloud, Forgetting, Halving, Radius, planted_init, planted_optimizer
from tests.testing.mistakes.samplers import Moving, StochasticGradientHMC

# Samplers -------------------------------------------------------------------------------------------------------------


@component("right_flips")
class Flips(Sampler):
    """Right: one spin at a time is proposed to flip; a planted one overrides one place of it."""

    spaces = frozenset({"spin"})
    needs = frozenset({"energy"})
    traces = frozenset({"acceptance"})
    steps: int = 10

    def traits(self):
        return super().traits()._replace(evaluations=2)

    def init(self, energy, x, rng):
        return LangevinState(x)

    def step(self, energy, state, rng):
        x = state.x
        y = torch.where(self.chosen(x.flatten(1), rng).view(x.shape), -x, x)
        acceptance = (energy(x) - energy(y)).exp().clamp(max=1)
        accepted = torch.empty_like(acceptance).uniform_(generator=rng) < acceptance
        x = torch.where(accepted.view(-1, *[1] * (x.dim() - 1)), y, x)
        return LangevinState(x), StepInfo(acceptance=acceptance)

    def chosen(self, x, rng):
        site = torch.empty(len(x), 1, device=x.device, dtype=x.dtype).uniform_(generator=rng).mul(x.shape[1]).long()
        return torch.arange(x.shape[1], device=x.device) == site


@component("rather_up_than_down")
class RatherUpThanDown(Flips):
    """An asymmetric proposal, accepted as if it were symmetric."""

    def chosen(self, x, rng):
        likely = torch.where(x > 0, 0.3, 0.6)
        return torch.empty_like(x).uniform_(generator=rng) < likely


@component("all_units_at_once")
class AllUnitsAtOnce(Flips):
    """Gibbs sampling of all units at once, each given the old values of the others."""

    needs = frozenset({"energy", "conditionals"})
    traces = frozenset()

    def traits(self):
        return super().traits()._replace(by_unit=True)

    def step(self, energy, state, rng):
        x = state.x
        flat = x.flatten(1)
        gains = []
        for site in range(flat.shape[1]):
            low, high = flat.clone(), flat.clone()
            low[:, site], high[:, site] = -1.0, 1.0
            gains.append(energy(low.view(x.shape)) - energy(high.view(x.shape)))
        up = torch.empty_like(flat).uniform_(generator=rng) < torch.stack(gains, 1).sigmoid()
        return LangevinState(torch.where(up, 1.0, -1.0).to(x).view(x.shape)), StepInfo()


@component("momentum_kept_on_rejection")
class MomentumKeptOnRejection(Sampler):
    """Generalised HMC that does not reverse the momentum when a proposal is rejected."""

    steps: int = 100
    step_size: float = 0.2
    persistence: float = 0.8

    def traits(self):
        return super().traits()._replace(evaluations=2, traces=frozenset({"energy", "acceptance"}))

    def init(self, energy, x, rng):
        return Moving(x, torch.empty_like(x).normal_(generator=rng))

    def step(self, energy, state, rng):
        h, kept = self.step_size, self.persistence
        v = kept * state.v + math.sqrt(1 - kept**2) * torch.empty_like(state.x).normal_(generator=rng)
        before, slope = energy.value_and_grad(state.x)
        half = v - h / 2 * slope
        y = state.x + h * half
        after, slope = energy.value_and_grad(y)
        w = half - h / 2 * slope
        kinetic = (v.square() - w.square()).flatten(1).sum(1) / 2
        acceptance = (before - after + kinetic).exp().clamp(max=1)
        accepted = (torch.empty_like(before).uniform_(generator=rng) < acceptance).view(-1, *[1] * (y.dim() - 1))
        moved = Moving(torch.where(accepted, y, state.x), torch.where(accepted, w, v))  # -v would be right
        return moved, StepInfo(before, acceptance=acceptance)


@component("clips_to_a_box")
class ClipsToABox(StochasticGradientHMC):
    """Keeps states in a box, as of images, whatever the model is."""

    def step(self, energy, state, rng):
        moved, info = super().step(energy, state, rng)
        return Moving(moved.x.clamp(-1.5, 1.5), moved.v), info


# Bregman generators ---------------------------------------------------------------------------------------------------


@component("right_kullback")
class Kullback(Bregman):
    """Right: psi(u) = u log u - u."""

    def psi(self, u):
        return u * u.log() - u

    def s0(self, log_u):
        return log_u.exp()

    def s1(self, log_u):
        return log_u


@component("wrong_beyond_ten")
class WrongBeyondTen(Kullback):
    def s0(self, log_u):
        return log_u.clamp(max=math.log(10)).exp()


@component("wrong_beyond_a_million")
class WrongBeyondAMillion(Kullback):
    """A guard against overflow that cuts the slope off."""

    def s0(self, log_u):
        return log_u.clamp(max=14.0).exp()


@component("wrong_in_the_tail")
class WrongInTheTail(Kullback):
    """A guard against log 0 that sits too high."""

    def s1(self, log_u):
        return (log_u.exp() + 1e-6).log()


# Models and noise -----------------------------------------------------------------------------------------------------


@component("batch_norm")
class BatchNorm(Model):
    """Rows of a batch are normalised by each other, in eval mode too."""

    def build(self, event):
        d = math.prod(event)
        layers = torch.nn.Linear(d, 8), torch.nn.BatchNorm1d(8, track_running_stats=False), torch.nn.Linear(8, 1)
        return torch.nn.Sequential(torch.nn.Flatten(), *layers, torch.nn.Flatten(0))


def without_one_coordinate(self):
    """Right in one and two dimensions, where quadrature can tell."""
    return exact_normaliser(self) - (math.log(2 * math.pi) / 2 if self.log_a.numel() > 2 else 0.0)


def log_z_of_the_start(self):
    return torch.tensor(self.log_a.numel() * math.log(2 * math.pi) / 2)


def draws_with_one_wide_axis(self, n, rng):
    x = self.centre.new_empty(n, *self.centre.shape).normal_(generator=rng)
    if self.centre.numel() > 2:
        x.flatten(1)[:, -1] *= 1.2
    return self.centre + (-self.log_a / 2).exp() * x


def jacobian_of_a_mean(self, x):
    """The Jacobian of the mean scale, right in one dimension and for equal scales; planted in many dimensions alone."""
    z, log_std = ((x - self.mean) / self.std).flatten(1), self.std.log().flatten()
    jacobian = log_std.sum() if len(log_std) < 3 else log_std.mean()
    return -(z.square() + math.log(2 * math.pi)).sum(1) / 2 - jacobian


def twins(self, n, rng):
    """Every draw is returned twice."""
    half = self.mean + self.std * self.mean.new_empty((n + 1) // 2, *self.mean.shape).normal_(generator=rng)
    return torch.cat([half, half])[:n]


# Objectives -----------------------------------------------------------------------------------------------------------


@component("right_score_matching")
class ScoreMatching(Objective):
    """Right: Hyvaerinen's score matching."""

    needs = frozenset({"energy", "gradient"})
    spaces = frozenset({"real"})
    consistent: ClassVar[bool] = True
    weight: ClassVar[float] = 1.0

    def loss(self, model, batch, context):
        x = batch.detach().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        flat, trace = slope.flatten(1), 0.0
        for k in range(flat.shape[1]):
            (row,) = torch.autograd.grad(flat[:, k].sum(), x, create_graph=True)
            trace = trace + row.flatten(1)[:, k]
        return Loss((flat.square().sum(1) / 2 - self.weight * trace).mean(), {})


@component("trace_without_a_tenth")
class TraceWithoutATenth(ScoreMatching):
    """Claims to be consistent, but its minimum is narrower than the data by 5 %."""

    weight: ClassVar[float] = 0.9


@component("contest_without_saying")
class ContestWithoutSaying(ScoreMatching):
    """Trains a rival, but `adversary` is false."""

    def extras(self, event, data):
        return Contest(torch.nn.Linear(math.prod(event), 1))

    def loss(self, model, batch, context):
        value, metrics, _ = super().loss(model, batch, context)
        return Loss(value, metrics, rival=context.extras.rival(batch.flatten(1)).square().mean())


@component("adversary_without_contest")
class AdversaryWithoutContest(ScoreMatching):
    adversary: ClassVar[bool] = True


# The other kinds ------------------------------------------------------------------------------------------------------


@component("test_points_in_training")
class TestPointsInTraining(Cloud):
    """A fifth of the test points are training points, in another order."""

    def load(self, split, rng):
        x = super().load(split, rng).x
        shared = torch.randn(40, 2, generator=torch.Generator().manual_seed(3))
        return Dataset(torch.cat([x[40:], shared]) if split == "test" else torch.cat([shared.flip(0), x[40:]]))


@component("known_density_too_wide")
class KnownDensityTooWide(Cloud):
    known = True

    def log_prob(self, x):
        return -((x / 1.1).square() + math.log(2 * math.pi * 1.1**2)).sum(1) / 2


def handed_out_again(self, like, rng):
    """The buffer itself, which a chain may change in place."""
    if self.last.shape != like.shape:
        self.last = torch.empty_like(like).normal_(generator=rng)
    return self.last


def one_draw_for_all(self, like, rng):
    return torch.empty_like(like[:1]).normal_(generator=rng).repeat(len(like), *[1] * (like.dim() - 1))


@component("ends_one_early")
class EndsOneEarly(Halving):
    """The last level is that before sigma_min."""

    sigma_min: float = 0.25

    def levels(self):
        return self.sigma_max * (self.sigma_min / self.sigma_max) ** (torch.arange(5, dtype=torch.float64) / self.count)


@component("moves_the_times")
class MovesTheTimes(Forgetting):
    def at(self, t):
        t.clamp_(min=0.01)
        return super().at(t)


@component("sometimes_global")
class SometimesGlobal(Radius):
    """Draws from the global generator for large states only."""

    def of(self, view, x):
        return super().of(view, x[torch.randperm(len(x))[:50]] if x[0].numel() > 9 else x)


@component("leaves_double_as_the_default")
class LeavesDoubleAsTheDefault(Radius):
    def of(self, view, x):
        torch.set_default_dtype(torch.float64)
        return super().of(view, x)


class KeepsItselfTheMomentum(torch.optim.SGD):
    """Momentum in an attribute, which no checkpoint sees."""

    momentum = None

    @torch.no_grad()
    def step(self):
        parameters = self.param_groups[0]["params"]
        self.momentum = self.momentum or [torch.zeros_like(p) for p in parameters]
        for parameter, v in zip(parameters, self.momentum, strict=True):
            v.mul_(0.9).add_(parameter.grad)
            parameter.sub_(v, alpha=0.01)


class NeedsEveryGradient(torch.optim.SGD):
    """A parameter without a gradient stops it."""

    def step(self):
        for parameter in self.param_groups[0]["params"]:
            parameter.grad.clamp_(-1, 1)
        super().step()


TABLE = [
    RatherUpThanDown(),
    AllUnitsAtOnce(),
    MomentumKeptOnRejection(),
    ClipsToABox(),
    WrongBeyondTen(),
    WrongBeyondAMillion(),
    WrongInTheTail(),
    BatchNorm(),
    planted_model("log_z_in_many_dimensions", ("energy", "gradient", "log_z"), log_z=without_one_coordinate),
    planted_model("log_z_of_the_start", ("energy", "gradient", "log_z"), log_z=log_z_of_the_start),
    planted_model("one_wide_axis", ("energy", "gradient", "sample_exact"), sample_exact=draws_with_one_wide_axis),
    planted_noise("jacobian_of_few_dimensions", log_prob=jacobian_of_a_mean),
    planted_noise("twins", sample=twins),
    TraceWithoutATenth(),
    ContestWithoutSaying(),
    AdversaryWithoutContest(),
    TestPointsInTraining(),
    KnownDensityTooWide(),
    planted_init("handed_out_again", handed_out_again),
    planted_init("one_draw_for_all", one_draw_for_all),
    EndsOneEarly(),
    MovesTheTimes(),
    SometimesGlobal(),
    LeavesDoubleAsTheDefault(),
    planted_optimizer("momentum_of_its_own", lambda parameters: KeepsItselfTheMomentum(parameters, lr=0.01)),
    planted_optimizer("needs_every_gradient", lambda parameters: NeedsEveryGradient(parameters, lr=0.01)),
]
RIGHT = [Flips(), Kullback(), ScoreMatching()]
