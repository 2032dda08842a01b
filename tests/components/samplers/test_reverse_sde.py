"""`reverse_sde`: on Gaussian data a step is affine, so that means and covariances of the chain follow by hand."""

import math
from itertools import pairwise

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.samplers.reverse_sde import ReverseSDE
from ebmkit.components.samplers.reverse_time import reverse_steps, times
from ebmkit.components.schedules.cosine import Cosine
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.maths.process import log_sigma
from tests.components.diffusions import (
    CHAINS,
    PROCESSES,
    far_mixture,
    gaussian,
    moments,
    richardson,
    share_of_the_small_mode,
    slope,
)
from tests.components.oracles import EVENTS, assert_follows, generator, normal_cdf

NAMES = list(PROCESSES)
SPACINGS = ["log_snr", "time"]
INTEGRATORS = ["exponential", "euler_maruyama"]


# The way back


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_legs_of_the_ornstein_uhlenbeck_process(steps, spacing):
    way = reverse_steps(VP(beta_min=2.0, beta_max=2.0, horizon=5.0, earliest=0.01), steps, spacing)
    assert len(way) == steps
    for step_back in way:
        h = step_back.start - step_back.end
        assert step_back.stretch == pytest.approx(math.exp(h), rel=1e-12)
        assert step_back.kick == pytest.approx(2 * math.expm1(h), rel=1e-12)
        assert step_back.spread == pytest.approx(math.sqrt(math.expm1(2 * h)), rel=1e-12)
        assert (step_back.drift, step_back.diffusion) == pytest.approx((-1, 2), rel=1e-10)
        assert step_back.signal == pytest.approx(math.exp(-step_back.end), rel=1e-14)
        assert step_back.noise == pytest.approx(math.sqrt(-math.expm1(-2 * step_back.end)), rel=1e-12)


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("steps", [1, 2, 50])
def test_legs_where_the_variance_explodes(steps, spacing):
    for step_back in reverse_steps(VE(sigma_max=50.0, sigma_min=0.01), steps, spacing):
        before, after = (0.01 * 5000**t for t in (step_back.start, step_back.end))
        assert step_back.stretch == 1
        assert step_back.kick == pytest.approx(before**2 - after**2, rel=1e-12)
        assert step_back.spread == pytest.approx(math.sqrt(before**2 - after**2), rel=1e-12)
        assert step_back.drift == 0
        assert step_back.diffusion == pytest.approx(2 * math.log(5000) * before**2, rel=1e-12)
        assert (step_back.signal, step_back.noise) == pytest.approx((1, after), rel=1e-12)


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("steps", [1, 2, 50])
@pytest.mark.parametrize("schedule", [VP(), Cosine(), Cosine(sigma_max=1e4)], ids=["vp", "cosine", "wide"])
def test_legs_where_the_variance_is_preserved(schedule, steps, spacing):
    """Where signal^2 + noise^2 = 1, g^2 = -2 f, so that the kick is 2 (a'/a - 1), whatever the pace."""
    for step_back in reverse_steps(schedule, steps, spacing):
        (a, _), (b, n) = (map(float, schedule.at(torch.tensor(t))) for t in (step_back.start, step_back.end))
        assert step_back.stretch == pytest.approx(b / a, rel=1e-12)
        assert step_back.kick == pytest.approx(2 * (b / a - 1), rel=1e-9)
        assert step_back.spread == pytest.approx(math.sqrt((b / a) ** 2 - 1), rel=1e-9)
        assert step_back.diffusion == pytest.approx(-2 * step_back.drift, rel=1e-9)
        assert (step_back.signal, step_back.noise) == pytest.approx((b, n), rel=1e-12)


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("steps", [1, 2, 50])
@pytest.mark.parametrize("name", NAMES)
def test_times_fall_evenly(name, steps, spacing):
    schedule = PROCESSES[name].schedule
    t = times(schedule, steps, spacing)
    assert t.shape == (steps + 1,)
    assert (float(t[0]), float(t[-1])) == (schedule.horizon, schedule.earliest)
    gaps = t.diff() if spacing == "time" else log_sigma(schedule, t).diff()
    assert bool((t.diff() < 0).all())
    torch.testing.assert_close(gaps, gaps.mean().expand(steps), rtol=1e-9, atol=0)
    way = reverse_steps(schedule, steps, spacing)
    assert [step_back.start for step_back in way] == t[:-1].tolist()
    assert [step_back.end for step_back in way] == t[1:].tolist()


# A step


def coefficients(process, start, end, integrator):
    """Stretch, kick and spread of a step, by hand."""
    if integrator == "euler_maruyama":
        h, f, g2 = start - end, process.drift(start), process.diffusion(start)
        return 1 - h * f, h * g2, math.sqrt(h * g2)
    if process is PROCESSES["ve"]:
        gone = process.noise(start) ** 2 - process.noise(end) ** 2
        return 1.0, gone, math.sqrt(gone)
    stretch = process.signal(end) / process.signal(start)  # all others preserve the variance
    return stretch, 2 * (stretch - 1), math.sqrt(stretch**2 - 1)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_every_step_by_hand_with_the_same_random_numbers(event, name, integrator):
    process, steps, n = PROCESSES[name], 8, 5
    schedule, clean = process.schedule, gaussian(process.schedule, event)
    sampler = ReverseSDE(steps=steps, integrator=integrator, spacing="time")
    energy, rng, same = Energy(clean.module), generator(1), generator(1)
    state = sampler.init(energy, torch.full((n, *event), 17.0), rng)
    first = 8.0 if name == "ve" else 1.0
    x = first * torch.empty(n, *event).normal_(generator=same).flatten(1)
    torch.testing.assert_close(state.x.flatten(1), x, rtol=1e-14, atol=0)
    assert state.level == schedule.horizon
    width = (schedule.horizon - schedule.earliest) / steps
    for i in range(steps):
        start, end = schedule.horizon - i * width, schedule.horizon - (i + 1) * width
        state, info = sampler.step(energy, state, rng)
        stretch, kick, spread = coefficients(process, start, end, integrator)
        precision, offset = clean.pull(process.signal(start), process.noise(start))
        score = offset - x @ precision
        torch.testing.assert_close(info.gradient.flatten(1), -score, rtol=1e-10, atol=1e-10)
        x = stretch * x + kick * score + spread * torch.empty(n, *event).normal_(generator=same).flatten(1)
        if i == steps - 1:  # Tweedie: the mean of x0 given x
            a, s = process.signal(end), process.noise(end)
            gain = a * clean.covariance @ (a**2 * clean.covariance + s**2 * torch.eye(x.shape[1])).inverse()
            x = clean.mean + (x - a * clean.mean) @ gain.T
            assert state.level is None
        else:
            assert state.level == pytest.approx(end, abs=1e-12)
        torch.testing.assert_close(state.x.flatten(1), x, rtol=1e-10, atol=1e-10)


def recursion(process, clean, ends, integrator, mean, covariance):
    """Mean and covariance behind every step between these times."""
    yield mean, covariance
    one = torch.eye(len(mean))
    for start, end in pairwise(ends):
        stretch, kick, spread = coefficients(process, start, end, integrator)
        precision, offset = clean.pull(process.signal(start), process.noise(start))
        step = stretch * one - kick * precision
        mean, covariance = step @ mean + kick * offset, step @ covariance @ step.T + spread**2 * one
        yield mean, covariance


@pytest.mark.parametrize(
    ("integrator", "spacing"), [("exponential", "log_snr"), ("exponential", "time"), ("euler_maruyama", "log_snr")]
)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_moments_of_the_chain_follow_the_recursion(event, name, integrator, spacing):
    process, d = PROCESSES[name], math.prod(event)
    clean = gaussian(process.schedule, event)
    sampler = ReverseSDE(steps=16, integrator=integrator, spacing=spacing, denoise=False)
    found = moments(sampler, clean.module, event, draws=1)
    ends = [level for _, _, level in found]
    assert (ends[0], ends[-1]) == (process.schedule.horizon, process.schedule.earliest)
    prior = 8.0 if name == "ve" else 1.0
    exact = recursion(process, clean, ends, integrator, torch.zeros(d), prior**2 * torch.eye(d))
    for (mean, covariance, _), (m, c) in zip(found, exact, strict=True):
        torch.testing.assert_close(mean, m, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(covariance, c, rtol=1e-10, atol=1e-10)


def test_the_exponential_integrator_is_not_exact_on_standard_normal_data():
    """On N(0, I), which the Ornstein-Uhlenbeck process keeps, a step of length h leaves a variance of
    1 + 2 (e^h - 1)^2: the score is held still. Only the linear part and the noise are exact."""
    schedule = PROCESSES["ou"].schedule
    module = NoisedMixtureModel(schedule=schedule, means=((0.0, 0.0),), covariances=(1.0,)).build((2,))
    found = moments(ReverseSDE(steps=10, spacing="time", denoise=False), module, (2,), draws=1)
    h = 2.98 / 10
    # From x ~ N(0, I): e^h x - 2 (e^h - 1) x + sqrt(e^2h - 1) xi.
    variance = (2 - math.exp(h)) ** 2 + math.expm1(2 * h)
    assert variance == pytest.approx(1 + 2 * math.expm1(h) ** 2)
    torch.testing.assert_close(found[1][1], variance * torch.eye(2), rtol=1e-12, atol=1e-12)


# Convergence


def exact_moments(process, clean, t, start=None):
    """Mean and covariance at a time of the reverse process itself, solved by hand, from `start` at the last time.

    What is off at the last time shrinks, along every axis, by v_t a_T / (v_T a_t), where v is the variance.
    """
    T = process.schedule.horizon
    mean, covariance = clean.noised(process.signal(t), process.noise(t))
    if start is None:
        return mean, covariance
    mean_T, covariance_T = clean.noised(process.signal(T), process.noise(T))
    shrunk = process.signal(T) / process.signal(t) * covariance @ covariance_T.inverse()
    off = start[0] - mean_T, start[1] - covariance_T
    return mean + shrunk @ off[0], covariance + shrunk @ off[1] @ shrunk.T


def far(found, exact):
    return max(float((a - b).abs().max()) for a, b in zip(found, exact, strict=True))


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", NAMES)
def test_both_integrators_are_of_order_one_and_tend_to_the_exact_law(name, integrator):
    """Chains that begin with the exact law of the last time end with that of the earliest, but for an error of order
    h; extrapolated to h = 0 they have it at every time."""
    process, event = PROCESSES[name], (2,)
    clean = gaussian(process.schedule, event)
    start = exact_moments(process, clean, process.schedule.horizon)
    counts = [32, 64, 128, 256, 512]
    runs = [
        moments(ReverseSDE(steps=n, integrator=integrator, denoise=False), clean.module, event, draws=1, start=start)
        for n in counts
    ]
    errors = [0.0] * len(counts)
    for quarter in (1, 2, 3, 4):
        at = [run[quarter * n // 4] for run, n in zip(runs, counts, strict=True)]
        assert len({round(level, 9) for _, _, level in at}) == 1
        exact = exact_moments(process, clean, at[0][2])
        # All times together: at the very end, where little noise is left, the first order may happen to vanish.
        errors = [error + far(run[:2], exact) for error, run in zip(errors, at, strict=True)]
        limit = [richardson([run[i] for run in at]) for i in (0, 1)]
        assert far(limit, exact) < (1e-6 if integrator == "exponential" else 1e-4)
    assert all(0.9 < order < 1.1 for order in slope(errors)[-2:]), (errors, slope(errors))


@pytest.mark.parametrize(("event", "name"), [*((event, "ou") for event in EVENTS), ((2,), "ve")], ids=str)
def test_extrapolated_to_no_step_it_is_the_exact_reverse_process_from_its_own_start(event, name):
    """From N(0, I) or N(0, sigma_max^2 I), which is not quite the law of the last time."""
    process, d = PROCESSES[name], math.prod(event)
    clean, counts = gaussian(process.schedule, event), [20, 40, 80, 160, 320]
    runs = [moments(ReverseSDE(steps=n, denoise=False), clean.module, event, draws=1) for n in counts]
    prior = torch.zeros(d), (64.0 if name == "ve" else 1.0) * torch.eye(d)
    for share in (0.5, 1):
        at = [run[int(share * n)] for run, n in zip(runs, counts, strict=True)]
        limit = [richardson([run[i] for run in at]) for i in (0, 1)]
        assert far(limit, exact_moments(process, clean, at[0][2], prior)) < 1e-6


# Chains with their noise


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", ["ve", "vp"])
@pytest.mark.parametrize("event", [(1,), (2,), (1, 4, 4)], ids=str)
def test_chains_have_these_moments(event, name, integrator):
    process, d = PROCESSES[name], math.prod(event)
    clean = gaussian(process.schedule, event)
    sampler = ReverseSDE(steps=12, integrator=integrator, denoise=False)
    mean, covariance, _ = moments(sampler, clean.module, event, draws=1)[-1]
    x = run_chain(sampler, clean.module, torch.zeros(20_000, *event), generator(0)).x.flatten(1)
    white = torch.linalg.solve_triangular(torch.linalg.cholesky(covariance), (x - mean).T, upper=False)
    some = [white[i] for i in range(0, d, max(1, d // 3))]
    assert_follows([(values, normal_cdf) for values in [*some, white.sum(0) / math.sqrt(d)]])


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize(
    "schedule",
    [VE(sigma_max=200.0, sigma_min=0.05), VP(horizon=1.2), Cosine(sigma_max=400.0)],
    ids=["ve", "vp", "cosine"],
)
def test_a_far_mixture_keeps_its_ratio(schedule, integrator):
    sampler = ReverseSDE(steps=150, integrator=integrator)
    x = run_chain(sampler, far_mixture(schedule), torch.zeros(CHAINS, 2), generator(0)).x
    assert abs(share_of_the_small_mode(x) - 0.2) < 0.02


def test_without_denoising_what_is_left_is_the_noise_of_the_earliest_time():
    process, event = PROCESSES["ou"], (2,)
    clean = gaussian(process.schedule, event)
    for denoise in (True, False):
        sampler = ReverseSDE(steps=400, denoise=denoise)
        mean, covariance, level = moments(sampler, clean.module, event, draws=1)[-1]
        a, n = process.signal(0.02), process.noise(0.02)
        if denoise:  # of E[x0 given x]
            gain = a * clean.covariance @ clean.noised(a, n)[1].inverse()
            exact = clean.mean, gain @ clean.noised(a, n)[1] @ gain.T
        else:
            exact = clean.noised(a, n)
        assert level == (None if denoise else pytest.approx(0.02))
        assert far((mean, covariance), exact) < 0.02
        assert far((mean, covariance), clean.noised(a, n)) > 0.025 or not denoise  # the difference is seen
