"""`sde_score_matching`, against denoising losses at the times that it drew, and against closed forms."""

import math

import pytest
import torch
from torch import nn

from ebmkit.chains.context import StepContext
from ebmkit.components.models.mlp_potential import MLPPotential
from ebmkit.components.models.mlp_score import MLPScore
from ebmkit.components.models.nets.conditional import Conditional
from ebmkit.components.objectives.sde_score_matching import SDEScoreMatching
from ebmkit.components.schedules.ve import VE
from tests.components.noised import (
    TIMES,
    Perturbed,
    Witness,
    built,
    exact_module,
    gradient,
    name,
    signal_and_noise,
    squared_diffusion,
)
from tests.components.oracles import EVENTS, assert_follows, assert_mean, generator, random_covariance

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
schedules = pytest.mark.parametrize("schedule", TIMES, ids=name)
kinds = pytest.mark.parametrize("kind", [MLPScore, MLPPotential])
weights = pytest.mark.parametrize("weight", ["noise", "likelihood"])


def loss_of(objective, module, batch, seed=0):
    return objective.loss(module, batch, StepContext(generator(seed), None, 1))


def factor(schedule, t, weight):
    """lambda(t) by hand."""
    return signal_and_noise(schedule, t)[1] ** 2 if weight == "noise" else squared_diffusion(schedule, t)


@weights
@kinds
@schedules
@shapes
def test_it_is_the_weighted_mean_at_the_times_that_it_drew(event, schedule, kind, weight):
    """The noise is read off what the network was asked."""
    module = built(kind(schedule=schedule, hidden=(6, 5)), event)
    batch = torch.randn(7, *event, generator=generator(1)) + 0.5
    witness = Witness(module)
    found = loss_of(SDEScoreMatching(schedule=schedule, weight=weight), witness, batch)
    ((x, times, _),) = witness.seen
    total, plain = 0.0, 0.0
    for k, t in enumerate(times.tolist()):
        signal, noise = signal_and_noise(schedule, t)
        xi = (x[k] - signal * batch[k]) / noise
        score = module.score(x[k : k + 1], torch.tensor(t))[0]
        one = (score + xi / noise).square().sum() / 2
        total = total + factor(schedule, t, weight) * one / 7
        plain = plain + noise**2 * one.detach() / 7
    torch.testing.assert_close(found.value, total, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(gradient(found.value, module), gradient(total, module), rtol=1e-8, atol=1e-9)
    assert set(found.metrics) == (set() if weight == "noise" else {"unweighted"})
    for value in found.metrics.values():
        torch.testing.assert_close(value, plain, rtol=1e-9, atol=1e-10)


@schedules
def test_the_noise_is_standard_normal_and_times_are_even(schedule):
    """Over 40 batches of 100: noise by Kolmogorov and Smirnov, in both coordinates; times from the earliest to the
    last, evenly in each batch and uniform over all."""
    module = built(MLPScore(schedule=schedule, hidden=(3,)), (2,))
    batch, drawn, all_times = torch.randn(100, 2, generator=generator(1)), [], []
    for seed in range(40):
        witness = Witness(module)
        loss_of(SDEScoreMatching(schedule=schedule), witness, batch, seed)
        ((x, times, _),) = witness.seen
        length = schedule.horizon - schedule.earliest
        assert schedule.earliest <= float(times.min()) < schedule.earliest + length / 99
        assert schedule.horizon - length / 99 < float(times.max()) <= schedule.horizon
        torch.testing.assert_close(times.sort().values.diff(), torch.full((99,), length / 100))
        both = torch.tensor([signal_and_noise(schedule, t) for t in times.tolist()])
        drawn.append((x - both[:, :1] * batch) / both[:, 1:])
        all_times.append((times[3:4] - schedule.earliest) / length)
    drawn = torch.cat(drawn)
    assert_follows([(drawn[:, k], torch.special.ndtr) for k in range(2)])
    assert_follows([(torch.cat(all_times), lambda u: u.clamp(0, 1))])


class Affine(Conditional):
    """s(x, t) = -(x - b) A' / (1 + t)."""

    def __init__(self, schedule, event):
        super().__init__(schedule)
        d = math.prod(event)
        self.a = nn.Parameter(torch.randn(d, d, generator=generator(2)) / math.sqrt(d))
        self.b = nn.Parameter(torch.randn(d, generator=generator(3)))

    def score(self, x, level, labels=None):
        return (-(x.flatten(1) - self.b) @ self.a.T / (1 + level.reshape(-1, 1))).view_as(x)


@weights
@schedules
@pytest.mark.parametrize("event", [(2,), (1, 4, 4)], ids=str)
def test_the_expected_loss_of_an_affine_score_on_gaussian_data(event, schedule, weight):
    """With M = A / (1 + t) and data N(m, C): 1/2 (|M (a m - b)|^2 + a^2 tr M C M' + |I / n - n M|^2) at each time, by
    midpoints over time."""
    d = math.prod(event)
    module, mean, covariance = Affine(schedule, event), torch.full((d,), 0.7), random_covariance(d, 4)
    exact, steps = 0.0, 1000
    for k in range(steps):
        t = schedule.earliest + (schedule.horizon - schedule.earliest) * (k + 0.5) / steps
        signal, noise = signal_and_noise(schedule, t)
        m = module.a.detach() / (1 + t)
        away = m @ (signal * mean - module.b.detach())
        quadratic = signal**2 * (m @ covariance @ m.T).trace() + (torch.eye(d) / noise - noise * m).square().sum()
        exact = exact + factor(schedule, t, weight) * (away.square().sum() + quadratic) / 2 / steps
    objective, root = SDEScoreMatching(schedule=schedule, weight=weight), torch.linalg.cholesky(covariance)
    draws = []
    for seed in range(60):
        data = (mean + torch.randn(600, d, generator=generator(1000 + seed)) @ root.T).view(-1, *event)
        draws.append(loss_of(objective, module, data, seed).value.detach())
    draws = torch.stack(draws)
    assert_mean(draws, exact)
    assert float(draws.std()) / math.sqrt(60) < 0.02 * float(exact)  # not by weakness


@weights
@schedules
@pytest.mark.parametrize("event", [(1,), (2,), (1, 4, 4)], ids=str)
def test_at_the_exact_score_the_expected_slope_is_zero(event, schedule, weight):
    exact, truth = exact_module(event, schedule)
    objective = SDEScoreMatching(schedule=schedule, weight=weight)
    module, moved, slopes, elsewhere = Perturbed(exact), Perturbed(exact), [], []
    with torch.no_grad():
        moved.theta.fill_(0.3)
    for seed in range(60):
        data = truth.draw(300, generator(1000 + seed)).view(-1, *event)
        slopes.append(gradient(loss_of(objective, module, data, seed).value, module))
        elsewhere.append(gradient(loss_of(objective, moved, data, seed).value, moved))
    slopes, elsewhere = torch.stack(slopes), torch.stack(elsewhere)
    assert_mean(slopes, 0.0)
    away = elsewhere.mean(0).abs() / (elsewhere.std(0) / math.sqrt(60))
    assert float(away.max()) > 12  # not by weakness


def test_it_goes_by_the_schedule_that_met_the_data():
    """`sigma_max: auto` is a number in the model alone."""
    data = torch.tensor([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
    modules = [built(MLPScore(schedule=s, hidden=(4,)), (2,), data=data) for s in (VE(), VE(sigma_max=5.0))]
    found = [loss_of(SDEScoreMatching(schedule=VE(), weight="likelihood"), one, data).value for one in modules]
    torch.testing.assert_close(found[0], found[1], rtol=1e-12, atol=0)
