"""`noised_mixture`, against the mixture under noise that torch.distributions knows."""

import math

import pytest
import torch

from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.vp import VP
from tests.components.noised import SCHEDULES, Mixture, built, levels_of, name, signal_and_noise
from tests.components.oracles import EVENTS, generator, quadrature_log_z, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
schedules = pytest.mark.parametrize("schedule", SCHEDULES, ids=name)


def made(event, schedule):
    """The module, and the mixture that it should be."""
    truth = Mixture(math.prod(event))
    model = NoisedMixtureModel(
        schedule=schedule,
        means=rows(truth.means),
        covariances=tuple(map(rows, truth.covariances)),
        weights=(0.4, 1.0, 0.6),  # twice what they are
        shape=event,
    )
    assert model.event() == event
    return model.build(event), truth


def points(event, n=7, seed=1):
    return 3 * torch.randn(n, *event, generator=generator(seed))


@schedules
@shapes
def test_energy_and_score_at_every_level(event, schedule):
    module, truth = made(event, schedule)
    x, d = points(event), math.prod(event)
    for level in levels_of(schedule):
        signal, noise = signal_and_noise(schedule, level)
        at = torch.tensor(level)
        log_q = truth.noised(signal, noise).log_prob(x.flatten(1))
        torch.testing.assert_close(-module(x, at), log_q + d / 2 * math.log(2 * math.pi), rtol=1e-10, atol=1e-10)
        score = module.score(x, at)
        assert score.shape == x.shape
        torch.testing.assert_close(score, truth.score(x, signal, noise), rtol=1e-9, atol=1e-9)


@schedules
@shapes
def test_the_score_is_minus_the_gradient_of_the_energy(event, schedule):
    module, _ = made(event, schedule)
    x = points(event, len(levels_of(schedule))).requires_grad_()
    level = torch.tensor(levels_of(schedule))
    (slope,) = torch.autograd.grad(module(x, level).sum(), x)
    torch.testing.assert_close(module.score(x, level), -slope, rtol=1e-9, atol=1e-10)


@schedules
@shapes
def test_a_level_for_each_state_is_that_level_for_each(event, schedule):
    """Levels in an order that is not that of the schedule, so that a state cannot have been given another's."""
    module, _ = made(event, schedule)
    level = torch.tensor(levels_of(schedule))[torch.randperm(len(levels_of(schedule)), generator=generator(2))]
    x = points(event, len(level))
    energies = torch.cat([module(x[i : i + 1], level[i]) for i in range(len(x))])
    scores = torch.cat([module.score(x[i : i + 1], level[i]) for i in range(len(x))])
    torch.testing.assert_close(module(x, level), energies, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(module.score(x, level), scores, rtol=1e-12, atol=1e-12)
    for one in level.tolist():  # and as a plain number
        torch.testing.assert_close(module(x, one), module(x, torch.tensor(one)), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(module.score(x, one), module.score(x, torch.tensor(one)), rtol=1e-12, atol=1e-12)


@schedules
@pytest.mark.parametrize("d", [1, 2])
def test_it_is_normalised_but_for_two_pi(d, schedule):
    """By the trapezoidal rule at every level with noise that the grid resolves."""
    module, _ = made((d,), schedule)
    for level in levels_of(schedule):
        at = torch.tensor(level)
        log_z = quadrature_log_z(lambda x, at=at: module(x, at), d)
        assert log_z == pytest.approx(d / 2 * math.log(2 * math.pi), abs=1e-8)


@shapes
def test_without_noise_it_is_the_mixture_that_is_known(event):
    """The component `gaussian_mixture`, at the clean end of a process and convolved with noise."""
    d = math.prod(event)
    means, covariance = rows(Mixture(d).means), rows(random_covariance(d, 7))
    plain = GaussianMixture(means=means, covariances=(covariance,), shape=event).build(event)
    clean = NoisedMixtureModel(schedule=VP(earliest=1e-12), means=means, covariances=(covariance,), shape=event).build(
        event
    )
    noised = NoisedMixtureModel(schedule=Geometric(sigma_max=2.0), means=means, covariances=(covariance,), shape=event)
    x = points(event).requires_grad_()
    for other, module, level in ((plain, clean, 1e-12), (plain.noised(0.7), noised.build(event), 0.7)):
        (slope,) = torch.autograd.grad(other(x).sum(), x)
        torch.testing.assert_close(module.score(x, torch.tensor(level)), -slope, rtol=1e-8, atol=1e-8)


def test_modes_are_means_and_shares():
    module, truth = made((1, 4, 4), SCHEDULES[0])
    means, weights = module.modes()
    torch.testing.assert_close(means, truth.means)
    torch.testing.assert_close(weights, truth.weights)


def test_weights_are_alike_unless_they_are_given():
    module = NoisedMixtureModel(means=((0.0,), (1.0,), (5.0,))).build((1,))
    torch.testing.assert_close(module.modes()[1], torch.full((3,), 1 / 3))


def test_a_schedule_that_is_left_to_the_data_is_fitted():
    data = torch.tensor([[0.0, 0.0], [3.0, 4.0], [1.0, 1.0]])
    module = NoisedMixtureModel(schedule=Geometric(count=3))
    module = built(module, (2,), data=data, stirred=False)
    torch.testing.assert_close(module.levels, torch.tensor([5.0, math.sqrt(0.05), 0.01]))
    assert module.schedule.prior_std() == pytest.approx(5.0)


def test_far_from_everything_the_score_is_finite_and_leads_back():
    """Where every component has underflown."""
    module, _ = made((2,), SCHEDULES[1])
    x = torch.tensor([[1e4, -2e4]])
    score = module.score(x, torch.tensor(0.05))
    assert bool(score.isfinite().all())
    assert float((score * x).sum()) < 0
    assert float(module(x, torch.tensor(0.05))) > 1e6


def test_it_has_nothing_to_train_and_everything_is_saved():
    module, _ = made((2,), SCHEDULES[1])
    assert list(module.parameters()) == []
    assert set(module.state_dict()) == {"log_weights", "means", "axes", "variances"}
