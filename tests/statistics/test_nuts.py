"""`nuts` against a brute-force oracle, its invariance by enumeration, and its stationary law."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.banana import Banana
from ebmkit.components.models.funnel import Funnel
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.samplers.nuts import NUTS, Uniforms
from tests.chains.long_chains import run_chains
from tests.components.oracles import assert_follows, assert_mean, generator, normal_cdf, random_covariance, rows
from tests.statistics.nuts_oracle import Orbit, draw, in_absolute_time, kernel, trajectory

# The same trajectories as the oracle --------------------------------------------------------------------------------


class Walled(nn.Module):
    """A narrow and a wide direction, and a wall behind which the energy is not a number."""

    def forward(self, x):
        x = x.flatten(1)
        energy = (x.square() * x.new_tensor([1.0, 9.0])).sum(1) / 2
        return torch.where(x[:, 0] > 0.5, torch.nan, energy)


def walled(x):
    gradient = np.array([1.0, 9.0]) * x
    return math.nan if x[0] > 0.5 else x @ gradient / 2, gradient


def gaussian(precision):
    return lambda x: (x @ precision @ x / 2, precision @ x)


def funnel(x, scale=1.5):
    v, y = x[0], x[1:]
    energy = v**2 / (2 * scale**2) + len(y) * v / 2 + np.exp(-v) * y @ y / 2
    return energy, np.array([v / scale**2 + len(y) / 2 - np.exp(-v) * y @ y / 2, *(np.exp(-v) * y)])


def banana(x, scale=2.0, curvature=0.3):
    u = x[1] + curvature * (x[0] ** 2 - scale**2)
    return (x[0] ** 2 / scale**2 + u**2) / 2, np.array([x[0] * (scale**-2 + 2 * curvature * u), u])


def covariance(d):
    """Neighbours are correlated, and widths differ."""
    place, width = torch.arange(d, dtype=torch.float64), torch.linspace(0.7, 1.4, d, dtype=torch.float64)
    return width * width[:, None] * 0.6 ** (place - place[:, None]).abs()


def precision(d):
    """The inverse, symmetric to the last bit."""
    inverse = covariance(d).inverse()
    return (inverse + inverse.T) / 2


def gaussian_pair(event):
    d = math.prod(event)
    module = Gaussian(mean=(0.0,) * d, covariance=rows(covariance(d)), shape=event).build(event)
    return module, gaussian(precision(d).numpy())


#: Target, shape of a state, parameters. Trees of one leaf to hundreds, that turn, diverge or are cut off.
CASES = {
    "line": ("gaussian", (1,), {"step_size": 0.7, "temperature": 0.4}),
    "plane": ("gaussian", (2,), {"step_size": 0.15}),
    "plane, fine": ("gaussian", (2,), {"step_size": 0.03}),
    "plane, masses": ("gaussian", (2,), {"step_size": 0.3, "mass": (0.3, 2.0)}),
    "ten": ("gaussian", (10,), {"step_size": 0.3, "mass": rows(random_covariance(10, 7)), "temperature": 2.0}),
    "image": ("gaussian", (1, 4, 4), {"step_size": 0.25, "mass": rows(random_covariance(16, 8))}),
    "cut off": ("gaussian", (2,), {"step_size": 0.02, "max_depth": 3}),
    "huge steps": ("gaussian", (2,), {"step_size": 2.5}),
    "funnel": ("funnel", (3,), {"step_size": 0.3, "temperature": 1.5}),
    "funnel, dense": ("funnel", (3,), {"step_size": 0.8, "mass": rows(random_covariance(3, 9))}),
    "banana": ("banana", (2,), {"step_size": 0.2}),
    "banana, coarse": ("banana", (2,), {"step_size": 1.2, "mass": 2.0}),
    "wall": ("walled", (2,), {"step_size": 0.2}),
}
CHAINS = 250


def target(name, event):
    """The module, and the same energy and gradient in numpy."""
    if name == "gaussian":
        return gaussian_pair(event)
    return {
        "funnel": lambda: (Funnel(dim=3, scale=1.5).build(event), funnel),
        "banana": lambda: (Banana(scale=2.0, curvature=0.3).build(event), banana),
        "walled": lambda: (Walled(), walled),
    }[name]()


def as_matrix(mass, d):
    given = np.array(1.0 if mass is None else mass)
    return given if given.ndim == 2 else np.diag(np.broadcast_to(given, d))


def grown(case):
    """A sampler, where its chains begin, their momenta and random numbers, and the trajectories that it makes."""
    name, event, parameters = case
    sampler, energy, rng = NUTS(**parameters), Energy(target(name, event)[0]), generator(0)
    x = torch.randn(CHAINS, *event, generator=rng)
    state = sampler.init(energy, x.clamp(max=0.5) if name == "walled" else x, rng)
    p = state.mass.momentum(state.x, rng, sampler.temperature)
    uniforms = Uniforms(*torch.rand(3, sampler.max_depth, CHAINS, generator=rng))
    return sampler, state, p, uniforms, sampler.trajectory(energy, state, p, uniforms)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_trajectories_are_those_of_the_oracle(case):
    """For given momenta and random numbers: the same ends, weights, counts and samples."""
    name, event, _ = case
    module, by_hand = target(name, event)
    sampler, state, p, uniforms, found = grown(case)
    mass = as_matrix(sampler.mass, math.prod(event))
    for chain in range(CHAINS):
        x, momentum = (value[chain].flatten().numpy() for value in (state.x, p))
        orbit = Orbit(by_hand, x, momentum, sampler.step_size, mass, sampler.temperature)
        side, move, inside = (numbers[:, chain].numpy() for numbers in uniforms)
        joined, visited, end = trajectory(orbit, in_absolute_time(side < 0.5))
        states = [k for half in joined for k in half]
        assert int(found.visited[chain]) == len(visited)
        assert bool(found.going[chain]) == (end is None)
        assert bool(found.diverged[chain]) == (end == "divergence")
        accepted = sum(min(1.0, math.exp(orbit.log_weight(k))) for k in visited if not orbit.diverged(k))
        assert float(found.acceptance[chain]) == near(accepted)
        assert float(found.log_weight[chain]) == near(math.log(orbit.weight(states)))
        ends = sorted(float(phase.x[chain].flatten()[0]) for phase in (found.back, found.front))
        assert ends == near(sorted(float(orbit.x[k][0]) for k in (min(states), max(states))))
        sample = orbit.x[draw(orbit, joined, move, inside)]
        assert found.sample.x[chain].flatten().tolist() == near(sample.tolist())
    there = Energy(module).value_and_grad(found.sample.x)
    torch.testing.assert_close((found.sample.energy, found.sample.gradient), there)


def near(value):
    return pytest.approx(value, rel=1e-6, abs=1e-6)


def test_the_cases_above_are_of_all_kinds():
    """Short and deep trees, turned and diverged and cut off: else the comparison would show little."""
    found = [grown(case)[-1] for case in CASES.values()]
    visited, going, diverged = (
        torch.cat([getattr(each, name) for each in found]) for name in ("visited", "going", "diverged")
    )
    assert (int(visited.min()), int(visited.max()) > 150) == (1, True)
    assert len(visited) > 3000
    assert min(int(going.sum()), int(diverged.sum()), int((~going & ~diverged).sum())) > 100


# The law that it leaves alone ---------------------------------------------------------------------------------------

ORBITS = {
    "plane": (gaussian(np.diag([1.0, 4.0])), 2, 0.35, 1.0),
    "circle": (gaussian(np.diag([0.5, 2.0])), 2, 0.9, 1.0),  # as the masses: one period
    "coarse": (gaussian(np.diag([1.0, 4.0])), 2, 0.8, 1.5),
    "funnel": (funnel, 3, 0.6, 1.0),
    "banana": (banana, 2, 0.7, 0.5),
    "wall": (walled, 2, 0.3, 1.0),
}


@pytest.mark.parametrize("orbit", ORBITS.values(), ids=ORBITS)
@pytest.mark.parametrize("seed", range(3))
@np.errstate(over="ignore", invalid="ignore")  # orbits that diverge
def test_the_oracle_leaves_every_orbit_invariant(orbit, seed):
    """sum_i w_i P(i -> k) = w_k to 1e-12, over all states i from which k can be reached.

    Leapfrog steps keep volumes, so that `exp(-H/T)` is stationary on phase space if it is on every orbit.
    """
    by_hand, d, step_size, temperature = orbit
    x, p = (numbers.numpy() for numbers in 0.8 * torch.randn(2, d, generator=generator(seed)))
    x[0] = min(x[0], 0.4)
    orbit = Orbit(by_hand, x, p, step_size, np.diag(np.linspace(0.5, 2, d)), temperature)
    depth = 4
    around = range(-(2**depth), 2**depth)
    for k in (2 * around.start, 2 * around.stop):
        orbit.reach(k)
    rows = {i: kernel(orbit, i, depth) for i in around if not orbit.diverged(i)}
    assert all(sum(row.values()) == pytest.approx(1, abs=1e-12) for row in rows.values())
    into = sum(orbit.weight([i]) * row.get(0, 0.0) for i, row in rows.items())
    assert into == pytest.approx(orbit.weight([0]), rel=1e-12)
    assert len(rows[0]) > 2


def whitened(name, x):
    """Independent standard normal numbers, if x is from the target."""
    if name == "gaussian":
        return torch.linalg.solve_triangular(torch.linalg.cholesky(covariance(x.shape[1])), x.T, upper=False).T
    return torch.cat([x[:, :1] / 1.5, x[:, 1:] * torch.exp(-x[:, :1] / 2)], 1)


def test_walls_cut_the_target_off():
    """Where the energy is not a number nobody goes, and what remains is the Gaussian left of the wall."""
    beyond = float(normal_cdf(torch.tensor(0.5)))
    first = torch.special.ndtri(beyond * torch.rand(200_000, generator=generator(0)))
    second = torch.randn(200_000, generator=generator(1)) / 3
    start = torch.stack([first, second], 1)
    chain = run_chain(NUTS(steps=2, step_size=0.4, max_depth=3), Walled(), start, generator(2), traces=True)
    assert bool((chain.traces["divergence"] > 0.05).all())
    assert bool(chain.traces["energy"].isfinite().all())
    assert float(chain.x[:, 0].max()) <= 0.5
    assert_follows([(chain.x[:, 0], lambda t: normal_cdf(t) / beyond), (3 * chain.x[:, 1], normal_cdf)])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(("gaussian", (10,), {}), id="gaussian"),
        pytest.param(("funnel", (3,), {"target_acceptance": 0.9}), id="funnel", marks=pytest.mark.long),
    ],
)
def test_chains_from_elsewhere_find_the_moments(case):
    """After a warm-up that nobody helped: mean and mean square of every whitened coordinate, by independent chains."""
    name, event, parameters = case
    module, _ = target(name, event)
    x = 2 + 0.1 * torch.randn(50, *event, generator=generator(0))
    draws = run_chains(NUTS(**parameters), module, x, generator(1), warmup=150, draws=150)
    white = whitened(name, draws.x.flatten(0, 1)).unflatten(0, (50, 150))
    assert_mean(white.mean(1), 0.0)
    assert_mean(white.square().mean(1), 1.0)
    assert float(draws.seen["acceptance"].mean()) == pytest.approx(parameters.get("target_acceptance", 0.8), abs=0.07)
