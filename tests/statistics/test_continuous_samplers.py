"""Samplers of real states: the exact ones keep their target, the biased ones have the bias that a closed form says."""

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.double_well import DoubleWell
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.samplers.hmc import HMC
from ebmkit.components.samplers.langevin import Langevin, LangevinState
from ebmkit.components.samplers.leapfrog import Phase, leapfrog
from ebmkit.components.samplers.mala import MALA
from ebmkit.components.samplers.mass import mass_of
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.components.samplers.mixed_mala import MixedMALA
from ebmkit.components.samplers.nuts import NUTS
from ebmkit.components.samplers.underdamped_langevin import UnderdampedLangevin, UnderdampedState
from tests.components.oracles import FALSE_ALARM, assert_follows, generator, normal_cdf, random_covariance, rows
from tests.statistics.exact_start import (
    TARGETS,
    dimension,
    kolmogorov,
    module_of,
    p_values,
    run_from_exact_draws,
    two_sample_p_value,
)

shapes = pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 3, 3)], ids=str)

# Exact ones -----------------------------------------------------------------------------------------------------------


def diagonal(d):
    return tuple(torch.linspace(0.6, 1.8, d, dtype=torch.float64).tolist())


def matrix(d):
    return rows(random_covariance(d, 7))


#: By name, the sampler for states of d coordinates. Steps are long enough that each refuses some of them.
EXACT = {
    "walk": lambda d: Metropolis(steps=4, scale=1.5 / math.sqrt(d)),
    "hot walk": lambda d: Metropolis(steps=4, scale=1.5 / math.sqrt(d), temperature=2.0),
    "independent": lambda d: Metropolis(steps=4, scale=1.4, center=0.4),
    "mala": lambda d: MALA(steps=4, step_size=0.4 * d**-0.33),
    "mala, masses": lambda d: MALA(steps=4, step_size=0.4 * d**-0.33, mass=diagonal(d)),
    "mala, matrix": lambda d: MALA(steps=4, step_size=0.3 * d**-0.33, mass=matrix(d)),
    "hot mala, masses": lambda d: MALA(steps=4, step_size=0.2 * d**-0.33, mass=diagonal(d), temperature=2.0),
    "cold mala, matrix": lambda d: MALA(steps=4, step_size=0.6 * d**-0.33, mass=matrix(d), temperature=0.5),
    "mixed": lambda d: MixedMALA(steps=4, step_sizes=(0.02, 0.8 * d**-0.33), jump=0.3, scales=(0.8, 1.6)),
    "hot mixed": lambda d: MixedMALA(
        steps=4, step_sizes=(0.02, 0.8 * d**-0.33), jump=0.3, scales=(0.8, 1.6), temperature=2.0
    ),
    "hmc": lambda d: HMC(steps=2, step_size=0.7 * d**-0.25, leapfrog_steps=3),
    "hmc, one length": lambda d: HMC(steps=2, step_size=0.7 * d**-0.25, leapfrog_steps=3, jitter=0.0),
    "hmc, masses": lambda d: HMC(steps=2, step_size=0.7 * d**-0.25, leapfrog_steps=3, mass=diagonal(d)),
    "hmc, matrix": lambda d: HMC(steps=2, step_size=0.6 * d**-0.25, leapfrog_steps=3, mass=matrix(d), jitter=0.9),
    "hot hmc, masses": lambda d: HMC(
        steps=2, step_size=0.5 * d**-0.25, leapfrog_steps=3, mass=diagonal(d), temperature=2.0
    ),
    "cold hmc, matrix": lambda d: HMC(
        steps=2, step_size=0.8 * d**-0.25, leapfrog_steps=3, mass=matrix(d), temperature=0.5
    ),
    "nuts": lambda d: NUTS(steps=1, step_size=0.7 * d**-0.25, max_depth=3),
    "hot nuts, masses": lambda d: NUTS(
        steps=1, step_size=0.5 * d**-0.25, max_depth=3, mass=diagonal(d), temperature=2.0
    ),
    "cold nuts, matrix": lambda d: NUTS(
        steps=1, step_size=0.8 * d**-0.25, max_depth=3, mass=matrix(d), temperature=0.5
    ),
}

#: Where all of them are tried, and which ones are tried on the other targets.
THOROUGH = ("plane", "image", "two modes")
ELSEWHERE = {"walk", "mala", "cold mala, matrix", "hot hmc, masses", "hmc, matrix"}
ELSEWHERE |= {"nuts", "cold nuts, matrix"}

CASES = [(name, target) for target in TARGETS for name in EXACT if target in THOROUGH or name in ELSEWHERE]

#: Which of these cases every `make test` tries.
BRIEF = {(name, target) for name, target in CASES if target == "plane" or name == "mala"}
BRIEF |= {("hmc, matrix", "image"), ("walk", "image"), ("nuts", "image"), ("nuts", "funnel")}

#: Kolmogorov-Smirnov tests in all of these cases, at most.
COMPARISONS = 8 * len(CASES)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        pytest.param(*case, id=f"{case[0]} on {case[1]}", marks=[] if case in BRIEF else pytest.mark.long)
        for case in CASES
    ],
)
def test_the_target_is_stationary(name, target):
    sampler = EXACT[name](dimension(target))
    chain = run_from_exact_draws(sampler, target)
    found = p_values(chain.x, target)
    assert min(found.values()) > FALSE_ALARM / COMPARISONS, found
    acceptance = chain.traces["acceptance"].mean()
    assert 0.05 < float(acceptance) < 0.99  # else nothing is tested


class Walled(nn.Module):
    """A Gaussian in a box, whose energy beyond it is whatever the test says."""

    def __init__(self, beyond, half=1.0):
        super().__init__()
        self.beyond, self.half = beyond, half

    def forward(self, x):
        flat = x.flatten(1)
        return torch.where(flat.abs().amax(1) <= self.half, flat.square().sum(1) / 2, self.beyond)

    def cdf(self, t):
        edge = normal_cdf(torch.tensor(self.half))
        return ((normal_cdf(t) - (1 - edge)) / (2 * edge - 1)).clamp(0, 1)


@pytest.mark.parametrize("beyond", [math.inf, -math.inf, math.nan], ids=str)
@pytest.mark.parametrize("event", [(1,), (1, 2, 2)], ids=str)
@pytest.mark.parametrize(
    "sampler",
    [
        Metropolis(steps=4, scale=0.5),
        Metropolis(steps=4, scale=1.0, center=0.2),
        MALA(steps=4, step_size=0.1),
        MixedMALA(steps=4, step_sizes=(0.02, 0.2), scales=(0.6, 1.0)),
        HMC(steps=4, step_size=0.2, leapfrog_steps=3),
    ],
    ids=["walk", "independent", "mala", "mixed", "hmc"],
)
def test_proposals_without_a_finite_energy_are_refused_and_counted(sampler, event, beyond):
    """What remains is the Gaussian cut off at the walls: every coordinate by itself."""
    edge = normal_cdf(torch.tensor(1.0))
    u = torch.rand(20_000, *event, generator=generator(0))
    x = torch.special.ndtri(1 - edge + (2 * edge - 1) * u)
    walled = Walled(beyond)
    chain = run_chain(sampler, walled, x, generator(1), traces=True)
    assert float(chain.x.abs().max()) <= 1
    # A random walk proposes states outside the support wherever it has an edge: that is no divergence.
    counted = not isinstance(sampler, Metropolis) or beyond != math.inf
    assert (0.02 if counted else -0.01) < float(chain.traces["divergence"].mean()) < (0.9 if counted else 0.01)
    assert 0.02 < float(chain.traces["acceptance"].mean()) < 0.98
    broken = chain.last.divergence == 1
    assert bool((chain.last.acceptance[broken] == 0).all())
    flat = chain.x.flatten(1)
    assert_follows([(flat[:, i], walled.cdf) for i in range(flat.shape[1])])


def test_the_test_itself():
    """The Kolmogorov distribution by its tables, sizes that are kept, and a shift that is seen."""
    for scaled, p in [(1.2238, 0.1), (1.3581, 0.05), (1.6276, 0.01), (1.9495, 0.001)]:
        assert kolmogorov(scaled) == pytest.approx(p, rel=1e-3)
    rng = np.random.default_rng(0)
    found = [two_sample_p_value(*(np.sort(rng.normal(size=n)) for n in (400, 600))) for _ in range(2_000)]
    for level in (0.05, 0.2, 0.5, 0.8):
        assert np.mean(np.array(found) < level) == pytest.approx(level, abs=0.05)
    a, b = np.sort(rng.normal(size=200_000)), np.sort(rng.normal(size=200_000))
    assert two_sample_p_value(a, b + 0.04) < 1e-8
    assert two_sample_p_value(a, 1.06 * b) < 1e-8
    assert two_sample_p_value(np.array([1.0, 3.0]), np.array([2.0, 4.0])) == two_sample_p_value(
        np.array([2.0, 4.0]), np.array([1.0, 3.0])
    )


# Biased ones ----------------------------------------------------------------------------------------------------------


def gaussian(event):
    """A Gaussian around the origin, its energy and its covariance."""
    d = math.prod(event)
    covariance = random_covariance(d, 4)
    return Gaussian(mean=(0.0,) * d, covariance=rows(covariance), shape=event).build(event), covariance


def once(sampler, module, event, rows_of_states, rng):
    """One step of states that are written as rows: positions and, where there are any, velocities behind them."""
    kind = UnderdampedState if isinstance(sampler, UnderdampedLangevin) else LangevinState
    state = kind(*(part.reshape(-1, *event) for part in rows_of_states.split(math.prod(event), 1)))
    moved, _ = sampler.step(Energy(module), state, rng)
    return torch.cat([part.flatten(1) for part in moved], 1)


def stationary_covariance(kind, parameters, noise_std, event):
    """S with `S = A S A' + Q`, where A is what a step without noise does to unit vectors."""
    module, _ = gaussian(event)
    d = math.prod(event)
    parts = 2 if kind is UnderdampedLangevin else 1
    A = once(kind(noise_std=0.0, **parameters), module, event, torch.eye(parts * d), generator(0)).T
    G = torch.cat([torch.eye(d)] * parts)  # the noise of a velocity is that of its position
    S = torch.linalg.solve(torch.eye(A.numel()) - torch.kron(A, A), (noise_std**2 * G @ G.T).flatten())
    return S.view_as(A)


#: Sampler, parameters without noise, temperature, and momentum (0 where there is none).
BIASED = {
    "langevin": (Langevin, {"step_size": 0.15}, 1.0, 0.0),
    "hot langevin": (Langevin, {"step_size": 0.1}, 2.0, 0.0),
    "underdamped": (UnderdampedLangevin, {"step_size": 0.3, "momentum": 0.8}, 1.0, 0.8),
    "hot underdamped": (UnderdampedLangevin, {"step_size": 0.2, "momentum": 0.5}, 2.0, 0.5),
    "underdamped without momentum": (UnderdampedLangevin, {"step_size": 0.15, "momentum": 0.0}, 1.0, 0.0),
}
biased = pytest.mark.parametrize(("kind", "parameters", "T", "momentum"), BIASED.values(), ids=BIASED)


def noise_of(step_size, T, momentum):
    return math.sqrt(2 * (1 - momentum) * step_size * T)


def closed_form(covariance, step_size, T, momentum):
    """`T C (I - h C^-1 / (2 (1 + momentum)))^-1`."""
    shrunk = torch.eye(len(covariance)) - step_size / (2 * (1 + momentum)) * torch.linalg.inv(covariance)
    return T * covariance @ torch.linalg.inv(shrunk)


@shapes
@biased
def test_the_biased_law_is_stationary(event, kind, parameters, T, momentum):
    """Chains that begin in the law of the discretisation stay in it; so far from the target that a test can tell."""
    module, covariance = gaussian(event)
    d = math.prod(event)
    S = stationary_covariance(kind, parameters, noise_of(parameters["step_size"], T, momentum), event)
    torch.testing.assert_close(S[:d, :d], closed_form(covariance, parameters["step_size"], T, momentum))
    factor = torch.linalg.cholesky(S + 1e-13 * torch.eye(len(S)))  # without momentum x' and v' share their noise
    state = torch.randn(40_000, len(S), generator=generator(0)) @ factor.T
    sampler = kind(temperature=T, **parameters)
    rng = generator(1)
    for _ in range(3):
        state = once(sampler, module, event, state, rng)
    x = state[:, :d]

    def white(law):
        return torch.linalg.solve_triangular(torch.linalg.cholesky(law), x.T, upper=False).T

    def chi_square(q):
        return torch.special.gammainc(torch.full_like(q, d / 2), q / 2)

    of_the_discretisation, of_the_target = white(S[:d, :d]), white(T * covariance)
    assert_follows(
        [
            *((of_the_discretisation[:, i], normal_cdf) for i in {0, d // 2, d - 1}),
            (of_the_discretisation.sum(1) / math.sqrt(d), normal_cdf),
            (of_the_discretisation.square().sum(1), chi_square),
        ]
    )
    with pytest.raises(AssertionError):
        assert_follows([(of_the_target.square().sum(1), chi_square)])


@shapes
@biased
def test_the_bias_is_of_first_order_in_the_step_size(event, kind, parameters, T, momentum):
    _, covariance = gaussian(event)
    d = math.prod(event)
    sizes = [0.02, 0.01, 0.005]
    bias = []
    for h in sizes:
        S = stationary_covariance(kind, parameters | {"step_size": h}, noise_of(h, T, momentum), event)
        bias.append(float(torch.linalg.matrix_norm(S[:d, :d] - T * covariance)))
    for coarse, fine in pairwise(bias):
        assert math.log2(coarse / fine) == pytest.approx(1, abs=0.05)


def test_langevin_is_of_first_order_on_a_double_well_too():
    """Total variation between the target and the law that a transition matrix on a fine grid keeps."""
    module = DoubleWell(dim=1).build((1,))
    x = torch.linspace(-3.5, 3.5, 1_200)
    target = torch.softmax(-module(x[:, None]).detach(), 0)
    errors = []
    for h in (0.02, 0.01, 0.005):
        mean = once(Langevin(step_size=h, noise_std=0.0), module, (1,), x[:, None], generator(0))
        transition = torch.softmax(-(x - mean).square() / (4 * h), 1)
        equations = transition.T - torch.eye(len(x))
        equations[0] = 1  # probabilities sum to one
        law = torch.linalg.solve(equations, torch.eye(len(x))[0])
        errors.append(float((law - target).abs().sum() / 2))
    for coarse, fine in pairwise(errors):
        assert math.log2(coarse / fine) == pytest.approx(1, abs=0.1)


# Trajectories ---------------------------------------------------------------------------------------------------------

MASSES = {"one mass": lambda d: None, "masses": diagonal, "matrix": matrix}
on_targets = pytest.mark.parametrize("target", TARGETS)
with_masses = pytest.mark.parametrize("masses", MASSES.values(), ids=MASSES)


class Differentiable(Energy):
    """Keeps the graph, so that a trajectory can be differentiated in where it begins."""

    def value_and_grad(self, x):
        energy = self.module(x)
        (gradient,) = torch.autograd.grad(energy.sum(), x, create_graph=True)
        return energy, gradient


def thrown(target, masses, n, energy_class=Energy):
    """Chains at draws of a target that are thrown."""
    x = module_of(target).sample_exact(n, generator(1)).requires_grad_(energy_class is Differentiable)
    energy, mass = energy_class(module_of(target)), mass_of(masses(dimension(target)), x.detach())
    return energy, mass, Phase(x, mass.momentum(x.detach(), generator(8)), *energy.value_and_grad(x))


@on_targets
@with_masses
@pytest.mark.parametrize("jittered", [False, True])
def test_a_trajectory_comes_back_if_thrown_back(target, masses, jittered):
    energy, mass, start = thrown(target, masses, 200)
    step_size = torch.tensor(0.05)
    if jittered:
        step_size = step_size * torch.linspace(0.5, 1.5, 200).view(-1, *[1] * (start.x.dim() - 1))
    end = leapfrog(energy, start, step_size, mass, 20)
    back = leapfrog(energy, end._replace(p=-end.p), step_size, mass, 20)
    close = {"rtol": 1e-10, "atol": 1e-10}
    sound = end.hamiltonian(mass).isfinite() & (end.hamiltonian(mass) - start.hamiltonian(mass) < 5)
    assert int(sound.sum()) > 150  # in the neck of the funnel they diverge
    torch.testing.assert_close(back.x[sound], start.x[sound], **close)
    torch.testing.assert_close(-back.p[sound], start.p[sound], **close)
    assert float((end.x - start.x)[sound].abs().mean()) > 0.1
    undone = leapfrog(energy, end, -step_size, mass, 20)
    torch.testing.assert_close(undone.x[sound], start.x[sound], **close)


@on_targets
@with_masses
def test_a_trajectory_keeps_volumes(target, masses):
    """The Jacobian of (x, p) -> (x*, p*) has determinant one."""
    event, d = TARGETS[target][1], dimension(target)
    energy, mass, start = thrown(target, masses, 1, Differentiable)

    def flow(state):
        x, p = (part.view(1, *event) for part in state.split(d))
        end = leapfrog(energy, Phase(x, p, *energy.value_and_grad(x)), torch.tensor(0.1), mass, 5)
        return torch.cat([end.x.flatten(), end.p.flatten()])

    jacobian = torch.autograd.functional.jacobian(flow, torch.cat([start.x.flatten(), start.p.flatten()]).detach())
    assert float((jacobian - torch.eye(2 * d)).abs().max()) > 0.1
    assert float(torch.linalg.det(jacobian)) == pytest.approx(1, abs=1e-10)


@on_targets
@with_masses
def test_the_energy_error_is_of_second_order(target, masses):
    """Of trajectories of one length, in ever finer steps."""
    energy, mass, start = thrown(target, masses, 500)
    errors = []
    for steps in (40, 80, 160):
        end = leapfrog(energy, start, torch.tensor(0.8 / steps), mass, steps)
        errors.append((end.hamiltonian(mass) - start.hamiltonian(mass)).abs())
    sound = errors[0] < 0.05
    assert int(sound.sum()) > 250
    for coarse, fine in pairwise(errors):
        assert math.log2(float(coarse[sound].mean() / fine[sound].mean())) == pytest.approx(2, abs=0.1)
