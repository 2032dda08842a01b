"""`predictor_corrector`: its steps by hand, the known bias of its corrector, and what it gains on a mixture."""

import math

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.samplers.predictor_corrector import PredictorCorrector
from ebmkit.components.samplers.reverse_sde import ReverseSDE
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from tests.components.diffusions import CHAINS, PROCESSES, far_mixture, gaussian, moments, share_of_the_small_mode
from tests.components.oracles import EVENTS, assert_follows, generator, normal_cdf
from tests.components.samplers.test_reverse_sde import coefficients

NAMES = list(PROCESSES)


@pytest.mark.parametrize(("integrator", "corrections"), [("exponential", 1), ("exponential", 3), ("euler_maruyama", 2)])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_every_step_by_hand_with_the_same_random_numbers(event, name, integrator, corrections):
    process, steps, n, snr = PROCESSES[name], 5, 4, 0.2
    schedule, clean = process.schedule, gaussian(process.schedule, event)
    sampler = PredictorCorrector(steps=steps, integrator=integrator, spacing="time", snr=snr, corrections=corrections)
    energy, rng, same = Energy(clean.module), generator(1), generator(1)
    state = sampler.init(energy, torch.full((n, *event), 17.0), rng)
    x = (8.0 if name == "ve" else 1.0) * torch.empty(n, *event).normal_(generator=same).flatten(1)
    torch.testing.assert_close(state.x.flatten(1), x, rtol=1e-14, atol=0)
    width = (schedule.horizon - schedule.earliest) / steps

    def score(x, t):
        precision, offset = clean.pull(process.signal(t), process.noise(t))
        return offset - x @ precision

    for i in range(steps):
        start, end = schedule.horizon - i * width, schedule.horizon - (i + 1) * width
        state, info = sampler.step(energy, state, rng)
        torch.testing.assert_close(info.gradient.flatten(1), -score(x, start), rtol=1e-10, atol=1e-10)
        stretch, kick, spread = coefficients(process, start, end, integrator)
        x = stretch * x + kick * score(x, start) + spread * torch.empty(n, *event).normal_(generator=same).flatten(1)
        alpha = 2 * (snr * process.noise(end)) ** 2
        for _ in range(corrections):
            z = torch.empty(n, *event).normal_(generator=same).flatten(1)
            x = x + alpha * score(x, end) + math.sqrt(2 * alpha) * z
        if i == steps - 1:
            x = (x + process.noise(end) ** 2 * score(x, end)) / process.signal(end)
            assert state.level is None
        else:
            assert state.level == pytest.approx(end, abs=1e-12)
        torch.testing.assert_close(state.x.flatten(1), x, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_many_corrections_lead_to_the_law_of_that_time_up_to_their_bias(name):
    """Whatever was predicted: along an axis of variance v, unadjusted Langevin ends with v / (1 - alpha / (2 v))."""
    process, event = PROCESSES[name], (2,)
    clean = gaussian(process.schedule, event)
    sampler = PredictorCorrector(steps=2, corrections=700, snr=0.4, denoise=False)
    wrong = torch.tensor([3.0, -2.0]), torch.tensor([[2.0, 1.0], [1.0, 4.0]])
    found = moments(sampler, clean.module, event, draws=701, start=wrong)[1]
    t = found[2]
    mean, covariance = clean.noised(process.signal(t), process.noise(t))
    v, axes = torch.linalg.eigh(covariance)
    alpha = 2 * (0.4 * process.noise(t)) ** 2
    torch.testing.assert_close(found[0], mean, rtol=1e-9, atol=1e-9)
    biased = axes @ (v / (1 - alpha / (2 * v))).diag() @ axes.T
    torch.testing.assert_close(found[1], biased, rtol=1e-9, atol=1e-9)
    assert float((biased - covariance).abs().max()) > 1e-3  # which the comparison would see


@pytest.mark.parametrize("event", [(1,), (2,), (1, 4, 4)], ids=str)
def test_chains_have_the_moments_that_follow(event):
    process, d = PROCESSES["vp"], math.prod(event)
    clean = gaussian(process.schedule, event)
    sampler = PredictorCorrector(steps=10, corrections=2, denoise=False)
    mean, covariance, _ = moments(sampler, clean.module, event, draws=3)[-1]
    x = run_chain(sampler, clean.module, torch.zeros(20_000, *event), generator(0)).x.flatten(1)
    white = torch.linalg.solve_triangular(torch.linalg.cholesky(covariance), (x - mean).T, upper=False)
    some = [white[i] for i in range(0, d, max(1, d // 3))]
    assert_follows([(values, normal_cdf) for values in [*some, white.sum(0) / math.sqrt(d)]])


def test_at_few_steps_it_is_nearer_to_a_mixture_than_its_predictor_alone():
    """Kolmogorov's distance from the mixture at the earliest time, with 20 predictions of either integrator."""
    schedule = VP(beta_min=2.0, beta_max=2.0, horizon=4.0, earliest=0.05)
    parts = ((0.3, -1.5, 0.1), (0.7, 1.0, 0.3))
    weights, means, variances = zip(*parts, strict=True)
    module = NoisedMixtureModel(
        schedule=schedule, means=tuple((m,) for m in means), covariances=variances, weights=weights
    ).build((1,))
    a, n2 = math.exp(-0.05), -math.expm1(-0.1)

    def distance(sampler):
        x = run_chain(sampler, module, torch.zeros(20_000, 1), generator(0)).x[:, 0].sort().values
        exact = sum(w * normal_cdf((x - a * m) / math.sqrt(a * a * v + n2)) for w, m, v in parts)
        return float((exact - torch.arange(1, len(x) + 1) / len(x)).abs().max())

    for integrator in ("exponential", "euler_maruyama"):
        alone = distance(ReverseSDE(steps=20, integrator=integrator, denoise=False))
        with_it = distance(PredictorCorrector(steps=20, integrator=integrator, corrections=5, snr=0.3, denoise=False))
        assert with_it < 0.7 * alone, (integrator, with_it, alone)


@pytest.mark.parametrize("schedule", [VE(sigma_max=200.0, sigma_min=0.05), VP(horizon=1.2)], ids=["ve", "vp"])
def test_a_far_mixture_keeps_its_ratio(schedule):
    sampler = PredictorCorrector(steps=100)
    x = run_chain(sampler, far_mixture(schedule), torch.zeros(CHAINS, 2), generator(0)).x
    assert abs(share_of_the_small_mode(x) - 0.2) < 0.02


def test_a_correction_depends_on_no_other_chain():
    """The published size of a step is averaged over all chains; here the same chain is the same in any company."""
    clean = gaussian(PROCESSES["vp"].schedule, (2,))
    sampler, energy = PredictorCorrector(steps=3, corrections=2), Energy(clean.module)
    state = sampler.init(energy, torch.zeros(3, 2), generator(0))
    ends = []
    for other in (0.0, 1e6):
        x = torch.tensor([[0.3, -0.2], [other, other], [1.0, 1.0]])
        ends.append(sampler.step(energy, state._replace(x=x), generator(1))[0].x[[0, 2]])
    assert torch.equal(*ends)
