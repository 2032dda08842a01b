"""`metropolis`: chains that begin in the target stay in it, and accept as often as a closed form says."""

import math

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.contracts.question import Question
from tests.components.oracles import EVENTS, assert_follows, generator, normal_cdf, random_covariance, rows

DRAWS = 200_000

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)

#: The target has mean 1 in every coordinate. Independent proposals are off its centre and of another width, so that the
#: Hastings correction matters.
PROPOSALS = {
    "walk": {"scale": 0.8},
    "independent": {"scale": 1.3, "center": 0.6},
    "hot walk": {"scale": 0.8, "temperature": 2.0},
    "cold independent": {"scale": 0.9, "center": 0.7, "temperature": 0.5},
}


@shapes
@pytest.mark.parametrize("parameters", PROPOSALS.values(), ids=PROPOSALS)
def test_a_gaussian_is_stationary(event, parameters):
    """From 200,000 exact draws: random directions, and the distance from the centre."""
    d, T = math.prod(event), parameters.get("temperature", 1.0)
    covariance = random_covariance(d, 0)
    module = Gaussian(mean=(1.0,) * d, covariance=rows(covariance), shape=event).build(event)
    factor = torch.linalg.cholesky(T * covariance)
    x = 1 + torch.randn(DRAWS, d, generator=generator(1)) @ factor.T
    chain = run_chain(Metropolis(steps=3, **parameters), module, x.view(-1, *event), generator(2), traces=True)
    assert 0.02 < float(chain.traces["acceptance"].mean()) < 0.98  # else nothing is tested
    white = torch.linalg.solve_triangular(factor, (chain.x.flatten(1) - 1).T, upper=False).T
    directions = torch.nn.functional.normalize(torch.randn(3, d, generator=generator(3)), dim=1)
    half = torch.tensor(d / 2)
    chi_square = white.square().sum(1)
    assert_follows(
        [
            *((white @ v, normal_cdf) for v in directions),
            (chi_square, lambda q: torch.special.gammainc(half.expand_as(q), q / 2)),
        ]
    )


@pytest.mark.parametrize("parameters", [{"scale": 1.5}, {"scale": 4.0, "center": (1.0, -0.5)}], ids=["walk", "other"])
def test_a_mixture_is_stationary(parameters):
    weights, means, variances = torch.tensor([0.3, 0.7]), torch.tensor([[-1.0, 0.0], [2.0, 1.0]]), (0.5, 1.5)
    module = GaussianMixture(means=rows(means), covariances=variances, weights=tuple(weights.tolist())).build((2,))
    x = module.sample_exact(DRAWS, generator(0))
    x = run_chain(Metropolis(steps=3, **parameters), module, x, generator(1)).x
    spread = torch.tensor(variances).sqrt()[:, None]

    def cdf_along(v):
        return lambda t: (weights[:, None] * normal_cdf((t - (means @ v)[:, None]) / spread)).sum(0)

    directions = torch.nn.functional.normalize(torch.randn(4, 2, generator=generator(2)), dim=1)
    assert_follows([(x @ v, cdf_along(v)) for v in directions])


@pytest.mark.parametrize("parameters", [{"scale": 2.0}, {"scale": 4.0, "center": 1.0}], ids=["walk", "independent"])
def test_chains_that_begin_elsewhere_reach_the_target(parameters):
    """3 exp(-(x+2)^2/2) + exp(-(x-4)^2/8): weights 0.6 and 0.4."""
    module = GaussianMixture(means=((-2.0,), (4.0,)), covariances=(1.0, 4.0), weights=(0.6, 0.4)).build((1,))
    x = torch.randn(20_000, 1, generator=generator(0))
    x = run_chain(Metropolis(steps=400, **parameters), module, x, generator(1)).x[:, 0]
    assert_follows([(x, lambda t: 0.6 * normal_cdf(t + 2) + 0.4 * normal_cdf((t - 4) / 2))])


def accepted_share(d, ratio):
    """2 E Phi(-r |xi| / 2) for steps of r standard deviations: the ratio of densities is above 1 half of that often."""
    q = torch.linspace(0, 12, 20_001)
    density = q ** (d - 1) * (-(q**2) / 2).exp()
    return float((2 * normal_cdf(-ratio * q / 2) * density).sum() / density.sum())


def test_the_integral_of_the_acceptance_is_the_known_one_on_a_line():
    for ratio in (0.3, 1.0, 4.0):
        assert accepted_share(1, ratio) == pytest.approx(2 / math.pi * math.atan(2 / ratio), abs=1e-3)


@shapes
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_a_walk_accepts_as_often_as_the_closed_form_says(event, temperature):
    d, sigma, scale = math.prod(event), 1.3, 1.1
    module = Gaussian(mean=(0.0,) * d, covariance=sigma**2, shape=event).build(event)
    width = sigma * math.sqrt(temperature)
    x = width * torch.randn(DRAWS, *event, generator=generator(0))
    sampler = Metropolis(steps=1, scale=scale, temperature=temperature)
    found = float(run_chain(sampler, module, x, generator(1), traces=True).traces["acceptance"])
    exact = 2 / math.pi * math.atan(2 * width / scale) if d == 1 else accepted_share(d, scale / width)
    assert abs(found - exact) < 5.5 * math.sqrt(exact * (1 - exact) / DRAWS)  # false alarm 4e-8


@shapes
def test_proposals_from_the_target_are_always_accepted(event):
    d = math.prod(event)
    center = tuple(torch.linspace(-1, 2, d).tolist())
    module = Gaussian(mean=center, covariance=0.49, shape=event).build(event)
    x = 3 * torch.randn(10_000, *event, generator=generator(0))
    chain = run_chain(Metropolis(steps=3, scale=0.7, center=center), module, x, generator(1), traces=True)
    assert chain.traces["acceptance"].tolist() == pytest.approx([1.0] * 3, abs=1e-12)
    white = (chain.x.flatten(1) - torch.tensor(center)) / 0.7
    assert_follows([(white[:, 0], normal_cdf), (white[:, -1], normal_cdf)])


class Counted(nn.Module):
    """Half the square, and how often it was asked for."""

    calls = 0

    def forward(self, x):
        self.calls += 1
        return x.flatten(1).square().sum(1) / 2


@shapes
@pytest.mark.parametrize("center", [None, 0.3])
def test_the_energy_of_a_state_is_carried_along(event, center):
    """One evaluation a step, and what is carried is the energy of where the chain stands."""
    module, rng = Counted(), generator(1)
    energy, sampler = Energy(module), Metropolis(scale=0.9, center=center)
    state = sampler.init(energy, torch.randn(500, *event, generator=generator(0)), rng)
    refused = moved = 0
    for step in range(1, 21):
        before = state.x.clone()
        state, info = sampler.step(energy, state, rng)
        assert module.calls == step + 1
        torch.testing.assert_close(info.energy, before.flatten(1).square().sum(1) / 2)
        torch.testing.assert_close(state.energy, state.x.flatten(1).square().sum(1) / 2)
        stayed = (state.x == before).flatten(1).all(1)
        assert bool((info.acceptance[~stayed] > 0).all())
        assert bool((info.acceptance[stayed] < 1).all())
        refused, moved = refused + int(stayed.sum()), moved + int((~stayed).sum())
    assert refused > 100
    assert moved > 100


def test_input_and_earlier_states_are_left_alone():
    module = Counted()
    sampler, x = Metropolis(), torch.randn(50, 2, generator=generator(0))
    first = sampler.init(Energy(module), x, generator(1))
    kept = [first.x.clone(), first.energy.clone()]
    sampler.step(Energy(module), first, generator(1))
    torch.testing.assert_close([first.x, first.energy], kept, rtol=0, atol=0)


class Walled(nn.Module):
    """A Gaussian between -0.5 and 0.5; beyond, the energy is whatever the test says."""

    def __init__(self, left, right):
        super().__init__()
        self.left, self.right = left, right

    def forward(self, x):
        x = x[:, 0]
        return torch.where(x > 0.5, self.right, torch.where(x < -0.5, self.left, x.square() / 2))


@pytest.mark.parametrize("parameters", [{"scale": 0.5}, {"scale": 1.5, "center": 0.2}], ids=["walk", "independent"])
@pytest.mark.parametrize("wall", [math.nan, math.inf, -math.inf])
def test_proposals_without_a_finite_energy_are_refused(wall, parameters):
    """What remains is the Gaussian cut off at the walls."""
    low, high = (float(normal_cdf(torch.tensor(t))) for t in (-0.5, 0.5))
    u = torch.rand(DRAWS, 1, generator=generator(0))
    x = torch.special.ndtri(low + (high - low) * u)
    sampler = Metropolis(steps=5, **parameters)
    chain = run_chain(sampler, Walled(wall, math.nan), x, generator(1), traces=True)
    assert float(chain.x.abs().max()) <= 0.5
    assert bool(chain.traces["energy"].isfinite().all())
    assert 0.05 < float(chain.traces["acceptance"].mean()) < 0.95
    assert_follows([(chain.x[:, 0], lambda t: (normal_cdf(t) - low) / (high - low))])


@pytest.mark.parametrize(("wall", "share"), [(math.inf, 0.0), (-math.inf, 1.0), (math.nan, 1.0)])
@pytest.mark.parametrize("center", [None, 0.0])
def test_a_proposal_outside_the_support_is_no_divergence(wall, share, center):
    x = torch.zeros(200, 1)
    chain = run_chain(Metropolis(steps=3, scale=5e4, center=center), Walled(wall, wall), x, generator(0), traces=True)
    assert chain.traces["divergence"].tolist() == [share] * 3
    assert chain.traces["acceptance"].tolist() == [0.0] * 3


def test_chains_leave_infinite_energies_and_are_stuck_at_nan():
    x = torch.tensor([[2.0], [-2.0]])
    chain = run_chain(Metropolis(steps=300), Walled(math.inf, math.nan), x, generator(0), traces=True)
    assert chain.x[0].item() == 2.0  # not a number is never repaired; the trace shows it
    assert bool(chain.traces["energy"].isnan().all())
    assert abs(chain.x[1].item()) <= 0.5


@shapes
def test_a_center_of_another_length_is_refused(event):
    d = math.prod(event)
    assert Metropolis().refusal(Question(event, Gaussian())) is None
    assert Metropolis(center=0.0).refusal(Question(event, Gaussian())) is None
    assert Metropolis(center=(0.0,) * d).refusal(Question(event, Gaussian())) is None
    assert Metropolis(center=(0.0,) * (d + 1)).refusal(Question(event, Gaussian())) == (
        f"has a 'center' of {d + 1} coordinates, but a state has {d}"
    )


def test_single_precision_stays_single():
    torch.set_default_dtype(torch.float32)
    module = Gaussian(mean=(0.0, 0.0)).build((2,))
    chain = run_chain(Metropolis(steps=2, center=(0.0, 1.0)), module, torch.zeros(5, 2), generator(0), traces=True)
    assert {chain.x.dtype, *(trace.dtype for trace in chain.traces.values())} == {torch.float32}
