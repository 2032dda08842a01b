"""Warm-up: the step size reaches its acceptance, masses become the target's, and the draws behind it are exact."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy, frozen
from ebmkit.chains.mass import Mass
from ebmkit.chains.warmup import AFTER, BEFORE, FIRST, DualAveraging, Spread, WarmUp, window_ends
from ebmkit.components.models.banana import Banana
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.samplers.hmc import HMC
from ebmkit.components.samplers.mala import MALA
from ebmkit.components.samplers.nuts import NUTS
from ebmkit.testing.device import pretended_device
from tests.chains.long_chains import run_chains
from tests.components.oracles import assert_follows, generator, normal_cdf

SAMPLERS = {
    "mala": lambda **parameters: MALA(**parameters),
    "hmc": lambda **parameters: HMC(leapfrog_steps=5, **parameters),
    "nuts": lambda **parameters: NUTS(max_depth=3, **parameters),
}
all_samplers = pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=pytest.mark.long if name == "nuts" else [])  # which is slow
        for name, make in SAMPLERS.items()
    ],
)


@pytest.fixture(autouse=True)
def _precise(precise):
    pass


def badly_scaled(event=(10,), decades=4):
    """Variances from 10^-decades to 10^decades."""
    d = math.prod(event)
    variances = 10 ** torch.linspace(-decades, decades, d)
    return Gaussian(mean=(2.0,) * d, covariance=tuple(variances.tolist()), shape=event).build(event), variances


def warm_up(sampler, energy, state, rng, steps):
    """The state after a warm-up, and the step sizes that it tried."""
    warmup = WarmUp(sampler, state, steps)
    for step in range(1, steps + 1):
        state, info = sampler.step(energy, state, rng)
        state = warmup.adapt(step, state, info)
    return state, warmup.found(state)["step_sizes"]


def tuned(sampler, module, x, steps, seed=0):
    with frozen(module) as energy:
        rng = generator(seed)
        return warm_up(sampler, energy, sampler.init(energy, x, rng), rng, steps)


def acceptance(sampler, module, state, steps=30, seed=9):
    """The mean over chains and some steps from a state on."""
    with frozen(module) as energy:
        rng, found = generator(seed), []
        for _ in range(steps):
            state, info = sampler.step(energy, state, rng)
            found.append(info.acceptance.mean())
    return float(torch.stack(found).mean())


# The step size --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guess", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("target", [0.3, 0.574, 0.8, 0.95])
def test_dual_averaging_finds_the_root(guess, target):
    """Of an acceptance exp(-eps / 3) with noise, from any guess: eps = -3 log target."""
    rng = generator(0)
    step_size = torch.tensor(guess)
    average = DualAveraging.begin(step_size)
    for _ in range(2_000):
        noise = 0.1 * torch.randn((), generator=rng)
        average, step_size = average.update(torch.exp(-step_size / 3) + noise, target)
    assert float(torch.exp(-average.log_mean.exp() / 3)) == pytest.approx(target, abs=0.02)


def test_dual_averaging_is_the_recursion_of_its_paper():
    """Hoffman and Gelman's algorithm 5 with gamma = 0.1, t0 = 10, kappa = 0.75, in plain numbers."""
    average = DualAveraging.begin(torch.tensor(0.2))
    mu, H, log_mean = math.log(2.0), 0.0, math.log(0.2)
    for t, alpha in enumerate([0.9, 0.1, 0.4, 1.0, 0.7], start=1):
        average, step_size = average.update(torch.tensor(alpha), 0.65)
        H = (1 - 1 / (t + 10)) * H + (0.65 - alpha) / (t + 10)
        log_step = mu - math.sqrt(t) / 0.1 * H
        log_mean = t**-0.75 * log_step + (1 - t**-0.75) * log_mean
        assert float(step_size) == pytest.approx(math.exp(log_step), rel=1e-12)
        assert float(average.log_mean) == pytest.approx(log_mean, rel=1e-12)


@all_samplers
@pytest.mark.parametrize("step_size", [1e-3, 30.0])
@pytest.mark.parametrize("target", [0.6, 0.9])
def test_the_target_acceptance_is_reached(make, step_size, target):
    """From guesses that are hundreds of times off."""
    sampler = make(step_size=step_size, target_acceptance=target)
    module = Gaussian(mean=(0.0,) * 10, covariance=0.25).build((10,))
    state, tried = tuned(sampler, module, torch.randn(64, 10, generator=generator(1)), 300)
    assert tried.shape == (300,)
    assert abs(acceptance(sampler, module, state) - target) < 0.08


def test_a_bent_target_and_few_chains():
    sampler, module = HMC(leapfrog_steps=5), Banana().build((2,))
    state, _ = tuned(sampler, module, torch.randn(4, 2, generator=generator(1)), 500)
    assert 0.6 < acceptance(sampler, module, state, steps=300) < 0.97


@pytest.mark.parametrize("steps", [1, 5, 20, 40, 60])
def test_short_warm_ups_end_well(steps):
    """None leaves a step size from the middle of a search."""
    sampler, module = HMC(step_size=0.5, leapfrog_steps=5), Gaussian(mean=(0.0,) * 10, covariance=1.0).build((10,))
    state, tried = tuned(sampler, module, torch.randn(16, 10, generator=generator(1)), steps)
    assert len(tried) == steps
    if steps >= 20:
        assert acceptance(sampler, module, state) > 0.5


# Masses ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("event", [(1,), (2,), (1, 3, 3)], ids=str)
def test_the_spread_is_the_variance_of_all_that_was_seen(event):
    x = 1e3 + torch.randn(7, 5, *event, generator=generator(0))
    spread = Spread.begin(x[0])
    for states in x:
        spread = spread.update(states)
    seen = x.flatten(0, 1)
    torch.testing.assert_close(spread.mean, seen.mean(0))
    torch.testing.assert_close(spread.squares / 34, seen.var(0))
    logs = seen.var(0).log()
    torch.testing.assert_close(spread.variance(), ((35 * logs + 5 * logs.mean()) / 40).exp())


@all_samplers
@pytest.mark.parametrize("event", [(10,), (1, 3, 3)], ids=str)
def test_the_metric_finds_the_variances_of_a_badly_scaled_gaussian(make, event):
    """Six powers of ten between them."""
    module, variances = badly_scaled(event, 3)
    sampler = make()
    x = torch.randn(16, *event, generator=generator(1))
    state, _ = tuned(sampler, module, x, 500)
    ratio = state.mass.inverse.flatten() / variances
    assert state.mass.inverse.shape == event
    assert float(ratio.max() / ratio.min()) < 4
    torch.testing.assert_close(state.mass.root, state.mass.inverse.rsqrt())
    assert abs(acceptance(sampler, module, state) - sampler.target_acceptance) < 0.15


def test_masses_help():
    """The same chains with masses of one move the wide coordinate thousands of times slower."""
    module, variances = badly_scaled()
    x = torch.randn(16, 10, generator=generator(1))
    travelled = {}
    for name, mass in {"tuned": None, "given": 1.0}.items():
        sampler = HMC(leapfrog_steps=5, mass=mass)
        state, _ = tuned(sampler, module, x, 600)
        with frozen(module) as energy:
            moved, _ = sampler.step(energy, state, generator(2))
        travelled[name] = float((moved.x - state.x)[:, -1].abs().mean() / variances[-1].sqrt())
    assert travelled["tuned"] > 0.2
    assert travelled["given"] < 0.01


@pytest.mark.parametrize("mass", [2.0, (1.0, 4.0), ((2.0, 0.5), (0.5, 1.0))])
def test_given_masses_stay(mass):
    sampler, module = HMC(mass=mass), badly_scaled((2,), 1)[0]
    x = torch.randn(8, 2, generator=generator(1))
    with frozen(module) as energy:
        given = sampler.init(energy, x, generator(0)).mass
    state, _ = tuned(sampler, module, x, 200)
    assert state.mass.inverse.equal(given.inverse)
    assert state.mass.dense == given.dense
    assert abs(acceptance(sampler, module, state) - 0.8) < 0.15


class Wall(nn.Module):
    """Chains at the origin cannot go anywhere."""

    def forward(self, x):
        return torch.where(x.flatten(1).abs().amax(1) > 0, torch.nan, 0.0 * x.flatten(1).sum(1))


def test_chains_that_never_move_keep_their_masses():
    state, tried = tuned(HMC(), Wall(), torch.zeros(4, 3), 100)
    assert state.mass.inverse.expand(3).tolist() == [1.0] * 3
    assert state.x.equal(torch.zeros(4, 3))
    assert bool(tried.isfinite().all())


class Pit(nn.Module):
    """A Gaussian with a place where energies are not numbers."""

    def forward(self, x):
        x = x.flatten(1)
        return torch.where(x[:, 0] > 50, torch.nan, x.square().sum(1) / 2)


def test_a_chain_that_is_lost_does_not_spoil_the_others():
    x = torch.randn(20, 3, generator=generator(0))
    x[0] = 100.0
    sampler = HMC(leapfrog_steps=5)
    state, tried = tuned(sampler, Pit(), x, 300)
    assert bool(tried.isfinite().all())
    assert 0.7 < acceptance(sampler, Pit(), state) < 0.98
    assert state.x[0].tolist() == [100.0] * 3


def test_window_ends():
    """Windows fill what is between the beginning and the end, and double, but for the last one."""
    for steps in (*range(1, 300), 500, 1_000, 5_000):
        ends = window_ends(steps)
        first, last = round(BEFORE * steps), steps - max(FIRST, round(AFTER * steps))
        if last - first < 10:
            assert ends == []
            continue
        assert ends[-1] == last <= steps - FIRST
        lengths = [end - start for start, end in pairwise([first, *ends])]
        assert lengths[:-1] == [FIRST * 2**i for i in range(len(lengths) - 1)]
        assert lengths[-1] >= (FIRST * 2 ** (len(lengths) - 1) if len(lengths) > 1 else 10)


def test_windows_of_the_default():
    assert window_ends(500) == [100, 150, 250, 450]


# What is behind it ----------------------------------------------------------------------------------------------------


@all_samplers
def test_draws_behind_a_warm_up_are_exact(make):
    """Many chains hardly know what one of them did to the step size: from exact draws they remain exact."""
    module = Gaussian(mean=(0.5, -1.0), covariance=((2.0, 0.9), (0.9, 0.8))).build((2,))
    x = module.sample_exact(10_000, generator(0))
    draws = run_chains(make(), module, x, generator(1), draws=1, warmup=50, burn_in=2)
    with torch.no_grad():
        white = (draws.x[:, 0] - module.mean) @ module.whitening.T
    assert_follows(
        [
            (white[:, 0], normal_cdf),
            (white[:, 1], normal_cdf),
            (white.sum(1) / math.sqrt(2), normal_cdf),
            (white.square().sum(1), lambda q: 1 - torch.exp(-q / 2)),
        ]
    )


@all_samplers
def test_nothing_changes_behind_a_warm_up(make):
    """The chain goes on as one whose spec had named the step size and the masses."""
    module, _ = badly_scaled((3,), 1)
    x = torch.randn(6, 3, generator=generator(0))
    sampler = make()
    state, _ = tuned(sampler, module, x, 100)
    masses = tuple((1 / state.mass.inverse).tolist())
    named = make(step_size=float(state.step_size), mass=masses)
    with frozen(module) as energy:
        other = named.init(energy, state.x, generator(0))
        one_rng, other_rng = generator(5), generator(5)
        for _ in range(5):
            state, _ = sampler.step(energy, state, one_rng)
            other, _ = named.step(energy, other, other_rng)
            torch.testing.assert_close(state.x, other.x)
            torch.testing.assert_close(state.step_size, other.step_size)


@all_samplers
def test_the_same_seed_gives_the_same_warm_up(make):
    module, _ = badly_scaled((3,), 1)
    x = torch.randn(6, 3, generator=generator(0))
    (one, tried), (other, also_tried) = (tuned(make(), module, x, 80) for _ in range(2))
    assert one.x.equal(other.x)
    assert tried.equal(also_tried)
    assert one.step_size.equal(other.step_size)
    assert one.mass.inverse.equal(other.mass.inverse)


@pytest.mark.parametrize("make", [SAMPLERS["mala"], SAMPLERS["hmc"]], ids=["mala", "hmc"])
def test_the_host_never_waits(make):
    module, _ = badly_scaled((3,), 1)
    with pretended_device() as gpu:
        module, x = module.to(gpu.device), torch.zeros(4, 3).to(gpu.device)
        sampler, energy, rng = make(), Energy(module), gpu.generator(0)
        with gpu.watched() as seen:
            warm_up(sampler, energy, sampler.init(energy, x, rng), rng, 60)
        seen.require_no_host_syncs()


# Masses themselves ----------------------------------------------------------------------------------------------------


def all_masses(event):
    d = math.prod(event)
    factor = torch.randn(d, d, generator=generator(3)) + 3 * torch.eye(d)
    return {
        "number": (Mass.diagonal(torch.tensor(0.4)), torch.eye(d) / 0.4),
        "each": (
            Mass.diagonal(torch.linspace(0.5, 2, d).view(event)),
            torch.linspace(0.5, 2, d).reciprocal().diag(),
        ),
        "matrix": (Mass.matrix(factor @ factor.T), factor @ factor.T),
    }


@pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 3, 3)], ids=str)
@pytest.mark.parametrize("name", ["number", "each", "matrix"])
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_throws_speeds_and_kinetic_energies(event, name, temperature):
    """p ~ N(0, T M), M^-1 p and p' M^-1 p / 2, the latter over all axes; white throws are normal in every direction."""
    mass, M = all_masses(event)[name]
    d = math.prod(event)
    p = mass.momentum(torch.zeros(20_000, *event), generator(0), temperature)
    flat = p.flatten(1)
    torch.testing.assert_close(mass.velocity(p).flatten(1), torch.linalg.solve(M, flat.T).T)
    torch.testing.assert_close(mass.kinetic(p), (flat * torch.linalg.solve(M, flat.T).T).sum(1) / 2)
    white = torch.linalg.solve_triangular(torch.linalg.cholesky(M), flat.T, upper=False).T / math.sqrt(temperature)
    directions = torch.nn.functional.normalize(torch.randn(3, d, generator=generator(1)), dim=1)
    half = torch.tensor(d / 2)
    assert_follows(
        [
            *((white @ direction, normal_cdf) for direction in directions),
            (white.square().sum(1), lambda q: torch.special.gammainc(half.expand_as(q), q / 2)),
        ]
    )


def test_what_is_found_is_the_mean_of_what_was_tried():
    """The last step size swings about the right one, above all with one chain."""
    sampler, rng = HMC(leapfrog_steps=3, step_size=0.3, mass=1.0), generator(0)
    with frozen(Gaussian().build((2,))) as energy:
        state = sampler.init(energy, torch.zeros(1, 2), rng)
        state, tried = warm_up(sampler, energy, state, rng, 60)
    log_mean = math.log(0.3)
    for t, log_step in enumerate(tried.log().tolist(), start=1):
        log_mean += t**-0.75 * (log_step - log_mean)
    assert float(state.step_size.log()) == pytest.approx(log_mean, rel=1e-12)
    assert abs(float(tried[-1].log()) - log_mean) > 0.01


def test_draws_come_from_a_chain_that_no_longer_changes():
    """Behind its warm-up, to the last bit."""
    module, x = Gaussian(mean=(0.0, 1.0), covariance=(0.1, 2.0)).build((2,)), torch.zeros(8, 2)
    sampler = HMC(leapfrog_steps=3)
    draws = run_chains(sampler, module, x, generator(1), draws=5, thin=2, burn_in=3, warmup=40)
    with frozen(module) as energy:
        rng = generator(1)
        state, _ = warm_up(sampler, energy, sampler.init(energy, x, rng), rng, 40)
        assert state.step_size.equal(draws.tuning["step_size"])
        kept = []
        for step in range(1, 3 + 5 * 2 + 1):
            state, _ = sampler.step(energy, state, rng)
            if step > 3 and (step - 3) % 2 == 0:
                kept.append(state.x)
    assert torch.stack(kept, 1).equal(draws.x)


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e4, -3e4], ids="{:g}".format)
def test_the_spread_of_float32_states_far_from_the_origin(offset):
    """Against the variances of the same rounded states, moved back in float64."""
    rng = torch.Generator().manual_seed(0)
    states = [(torch.randn(8, 2, generator=rng, dtype=torch.float32) + offset).float() for _ in range(200)]
    spread = Spread.begin(states[0])
    for x in states:
        spread = spread.update(x)
    exact = (torch.cat(states).double() - offset).var(0)
    assert torch.allclose((spread.squares / (spread.seen - 1)).double(), exact, rtol=1e-5 + abs(offset) * 2.0**-24)


@pytest.mark.parametrize("step_size", [1e-4, 30.0])
def test_the_first_steps_of_separate_chains_tune_the_others(step_size):
    """A step size that is far too small or too large ends where a good one does: at the target's variances.

    A variance of 4,000 draws has a standard error of 2.2 %; 1e-6 of them are further off than 4.9 such errors.
    """
    model = Gaussian(mean=(0.0, 0.0), covariance=(1.0, 0.04)).build((2,))
    rng = torch.Generator().manual_seed(0)
    start = torch.zeros(4000, 2)
    sampler = MALA(steps=600, step_size=step_size)
    chain = run_chain(sampler, model, start, rng, traces=True, warmup=300)
    assert float(chain.traces["acceptance"][300:].mean()) == pytest.approx(sampler.target_acceptance, abs=0.1)
    assert chain.x.var(0) / torch.tensor([1.0, 0.04]) == pytest.approx([1.0, 1.0], abs=4.9 * 0.022)
