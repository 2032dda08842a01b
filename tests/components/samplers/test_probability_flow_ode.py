"""`probability_flow_ode`: on Gaussian data the flow is linear, and where a chain ends is known to the last digit."""

import math

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.nets.conditional import Conditional
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.samplers import probability_flow_ode as module_of_it
from ebmkit.components.samplers.probability_flow_ode import ProbabilityFlowODE
from ebmkit.components.samplers.reverse_time import TRIES
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from tests.components.diffusions import (
    CHAINS,
    PROCESSES,
    far_mixture,
    gaussian,
    moments,
    share_of_the_small_mode,
    slope,
)
from tests.components.oracles import EVENTS, generator

NAMES = list(PROCESSES)


def carried(process, clean, x, start, end):
    """Where the flow takes x from one time to another: along every axis as the standard deviation changes."""
    values, axes = torch.linalg.eigh(clean.covariance)
    (a, b), (n, m) = ([f(t) for t in (start, end)] for f in (process.signal, process.noise))
    ratio = ((b**2 * values + m**2) / (a**2 * values + n**2)).sqrt()
    return b * clean.mean + ((x - a * clean.mean) @ axes * ratio) @ axes.T


def begun(name, n, event, seed):
    return (8.0 if name == "ve" else 1.0) * torch.empty(n, *event).normal_(generator=generator(seed)).flatten(1)


@pytest.mark.parametrize("spacing", ["log_snr", "time"])
@pytest.mark.parametrize(("method", "order", "count"), [("heun", 2, 30), ("rk4", 4, 15)])
@pytest.mark.parametrize("name", NAMES)
def test_orders_of_the_methods(name, method, order, count, spacing):
    process, event = PROCESSES[name], (2,)
    schedule, clean = process.schedule, gaussian(process.schedule, event)
    exact = carried(process, clean, begun(name, 6, event, 0), schedule.horizon, schedule.earliest)
    errors = []
    for steps in (count, 2 * count, 4 * count):
        sampler = ProbabilityFlowODE(steps=steps, method=method, spacing=spacing, denoise=False)
        x = run_chain(sampler, clean.module, torch.zeros(6, *event), generator(0)).x
        errors.append(float((x - exact).abs().max()))
    assert errors[-1] < 0.01
    assert slope(errors)[-1] == pytest.approx(order, abs=0.25), (errors, slope(errors))


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_flow_follows_the_exact_solution_at_every_time(event, name):
    """To 1e-6, relative to 1 + |x|, at every stop; fixed steps nearly so."""
    process = PROCESSES[name]
    schedule, clean = process.schedule, gaussian(process.schedule, event)
    adaptive, fixed = ProbabilityFlowODE(steps=3, tolerance=1e-7), ProbabilityFlowODE(steps=40, method="rk4")
    for sampler, within in [(adaptive, 1e-6), (fixed, 1e-3)]:
        energy, rng = Energy(clean.module), generator(3)
        state = sampler.init(energy, torch.full((5, *event), 17.0), rng)
        x = begun(name, 5, event, 3)
        torch.testing.assert_close(state.x.flatten(1), x, rtol=1e-12, atol=0)
        assert state.level == schedule.horizon
        precision, offset = clean.pull(process.signal(schedule.horizon), process.noise(schedule.horizon))
        for i in range(sampler.steps):
            state, info = sampler.step(energy, state, rng)
            if i == 0:
                torch.testing.assert_close(info.gradient.flatten(1), x @ precision - offset, rtol=1e-10, atol=1e-10)
            if i < sampler.steps - 1:
                exact = carried(process, clean, x, schedule.horizon, state.level)
            else:  # Tweedie
                a, n = process.signal(schedule.earliest), process.noise(schedule.earliest)
                end = carried(process, clean, x, schedule.horizon, schedule.earliest)
                gain = a * clean.covariance @ clean.noised(a, n)[1].inverse()
                exact = clean.mean + (end - a * clean.mean) @ gain.T
                assert state.level is None
            off = (state.x.flatten(1) - exact).abs() / (1 + exact.abs())
            assert float(off.max()) < within, (i, float(off.max()))


@pytest.mark.parametrize("name", NAMES)
def test_states_have_the_law_of_the_diffusion(name):
    """From the exact law at the last time to the exact law at each stop."""
    process, event = PROCESSES[name], (2,)
    clean, schedule = gaussian(process.schedule, event), process.schedule
    start = clean.noised(process.signal(schedule.horizon), process.noise(schedule.horizon))
    sampler = ProbabilityFlowODE(steps=3, tolerance=1e-7, denoise=False)
    for mean, covariance, t in moments(sampler, clean.module, event, draws=1, start=start):
        m, c = clean.noised(process.signal(t), process.noise(t))
        torch.testing.assert_close(mean, m, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(covariance, c, rtol=1e-6, atol=1e-6)


def test_there_is_no_noise_but_that_of_the_start():
    clean = gaussian(PROCESSES["ou"].schedule, (2,))
    for tolerance in (None, 1e-4):
        sampler = ProbabilityFlowODE(steps=5, tolerance=tolerance)
        energy = Energy(clean.module)
        first = sampler.init(energy, torch.zeros(4, 2), generator(0))
        ends = []
        for seed in (1, 2):
            state, rng = first, generator(seed)
            for _ in range(sampler.steps):
                state, _ = sampler.step(energy, state, rng)
            ends.append(state.x)
            assert torch.equal(rng.get_state(), generator(seed).get_state())
        assert torch.equal(*ends)


def test_a_hard_chain_does_not_move_the_others():
    """A narrow component needs steps that are smaller by far; the rest go on with theirs."""
    schedule = VP(beta_min=2.0, beta_max=2.0, horizon=4.0, earliest=1e-3)
    module = NoisedMixtureModel(schedule=schedule, means=((-3.0,), (3.0,)), covariances=(1e-3, 1.0)).build((1,))
    sampler, energy = ProbabilityFlowODE(steps=1, tolerance=1e-6), Energy(module)
    x = torch.tensor([[0.5], [1.0], [-1.5]])
    state = sampler.init(energy, x, generator(0))
    evaluations, ends = [], []
    for rows in (x, x[:2], x[2:]):
        at, before = state._replace(x=rows), energy.evaluations
        for _ in range(sampler.steps):
            at, _ = sampler.step(energy, at, generator(0))
        ends.append(at.x)
        evaluations.append(energy.evaluations - before)
    torch.testing.assert_close(ends[0][:2], ends[1], rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(ends[0][2:], ends[2], rtol=1e-13, atol=1e-13)
    assert evaluations[2] > 1.15 * evaluations[1]  # it is harder indeed
    assert evaluations[0] == evaluations[2]


class Rough(Conditional):
    """A score that no step can follow."""

    def score(self, x, level, labels=None):
        return (1e9 * (x + level.view(-1, 1))).sin() * 1e9


def test_what_cannot_be_solved_is_said(monkeypatch):
    monkeypatch.setattr(module_of_it, "TRIES", 60)
    sampler = ProbabilityFlowODE(steps=1, tolerance=1e-9)
    with pytest.raises(ArithmeticError, match="3 of 3 equations were not solved to 1e-09 in 60 tries"):
        run_chain(sampler, Rough(VP()), torch.zeros(3, 1), generator(0))


def test_only_a_tolerance_makes_the_host_wait():
    assert ProbabilityFlowODE.host_syncs == ProbabilityFlowODE().traits().host_syncs == 0
    assert ProbabilityFlowODE(tolerance=1e-3).traits().host_syncs == TRIES


def test_a_tighter_tolerance_is_kept_with_more_work():
    process = PROCESSES["vp"]
    schedule, clean = process.schedule, gaussian(process.schedule, (2,))
    exact = carried(process, clean, begun("vp", 6, (2,), 0), schedule.horizon, schedule.earliest)
    worked = []
    for tolerance in (1e-3, 1e-5, 1e-7, 1e-9):
        sampler, energy = ProbabilityFlowODE(steps=1, tolerance=tolerance, denoise=False), Energy(clean.module)
        state, _ = sampler.step(energy, sampler.init(energy, torch.zeros(6, 2), generator(0)), generator(0))
        assert float(((state.x - exact).abs() / (1 + exact.abs())).max()) < 10 * tolerance
        worked.append(energy.evaluations)
    assert worked == sorted(set(worked))


@pytest.mark.parametrize("parameters", [{"steps": 40}, {"steps": 20, "method": "rk4"}, {"steps": 1, "tolerance": 1e-2}])
@pytest.mark.parametrize("schedule", [VE(sigma_max=400.0, sigma_min=0.05), VP(horizon=1.2)], ids=["ve", "vp"])
def test_a_far_mixture_keeps_its_ratio(schedule, parameters):
    x = run_chain(ProbabilityFlowODE(**parameters), far_mixture(schedule), torch.zeros(CHAINS, 2), generator(0)).x
    assert abs(share_of_the_small_mode(x) - 0.2) < 0.02


def test_in_one_dimension_the_flow_keeps_quantiles():
    """It neither crosses nor mixes: the share of chains below a point is that of the data, to four digits."""
    schedule = VP(horizon=1.5)
    module = NoisedMixtureModel(
        schedule=schedule, means=((-2.0,), (1.0,)), covariances=(0.2, 0.5), weights=(1.0, 3.0)
    ).build((1,))
    u = torch.linspace(0.02, 0.98, 49)
    sampler, energy = ProbabilityFlowODE(steps=5, tolerance=1e-8, denoise=False), Energy(module)
    state = sampler.init(energy, u[:, None], generator(0))._replace(x=torch.special.ndtri(u)[:, None])
    for _ in range(5):
        state, _ = sampler.step(energy, state, generator(0))
    a, n = (float(v) for v in schedule.at(torch.tensor(schedule.earliest)))
    x = state.x[:, 0]
    below = sum(
        w * torch.special.ndtr((x - a * m) / math.sqrt(a * a * v + n * n))
        for w, m, v in [(0.25, -2, 0.2), (0.75, 1, 0.5)]
    )
    torch.testing.assert_close(below, u, rtol=0, atol=1e-4)
