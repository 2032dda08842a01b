"""Parts of samples that are known: on Gaussian data, where every law on the way is Gaussian and known."""

import math

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.samplers.annealed_langevin import AnnealedLangevin
from ebmkit.components.samplers.predictor_corrector import PredictorCorrector
from ebmkit.components.samplers.probability_flow_ode import ProbabilityFlowODE
from ebmkit.components.samplers.reverse_sde import ReverseSDE
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.engine.conditioning import Condition
from ebmkit.registry.builtin import ebmkit_components
from ebmkit.testing.device import pretended_device
from ebmkit.testing.example import instance
from ebmkit.testing.partner import build, model_for, states
from tests.components.diffusions import PROCESSES, gaussian, moments
from tests.components.oracles import assert_follows, generator, normal_cdf

LEVELS = Geometric(sigma_max=4.0, sigma_min=0.25, count=5)
SETTINGS = {
    "annealed_langevin": (LEVELS, AnnealedLangevin(schedule=LEVELS, steps_per_level=3)),
    "reverse_sde": (PROCESSES["vp"].schedule, ReverseSDE(steps=8)),
    "ve": (PROCESSES["ve"].schedule, ReverseSDE(steps=8, integrator="euler_maruyama")),
    "predictor_corrector": (PROCESSES["cosine"].schedule, PredictorCorrector(steps=6)),
    "probability_flow_ode": (PROCESSES["ou"].schedule, ProbabilityFlowODE(steps=6)),
}
EVENTS = [(2,), (10,), (1, 4, 4)]


@pytest.fixture(autouse=True)
def _precise():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def half(event):
    """True for every other coordinate."""
    return (torch.arange(math.prod(event)) % 2 == 0).view(event)


def signal_and_noise(name, level):
    if name == "annealed_langevin":
        return 1.0, level
    process = PROCESSES[
        {"reverse_sde": "vp", "predictor_corrector": "cosine", "probability_flow_ode": "ou"}.get(name, name)
    ]
    return process.signal(level), process.noise(level)


@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("name", SETTINGS)
def test_known_parts_end_as_given_and_are_noised_like_the_rest_on_the_way(name, event):
    schedule, sampler = SETTINGS[name]
    clean, mask, n = gaussian(schedule, event), half(event), 3000
    known = torch.randn(2, *event, generator=generator(1)) * 3
    project = Condition(known=known, mask=mask).projection(0, torch.zeros(n, *event), schedule)
    wanted = known[torch.arange(n) % 2]
    seen = []

    def watched(state, rng):
        held = project(state, rng)
        assert torch.equal(held.x[:, ~mask], state.x[:, ~mask])  # the rest is left alone
        seen.append((state.level, held.x[:, mask]))
        return held

    x = run_chain(sampler, clean.module, torch.zeros(n, *event), generator(2), project=watched).x
    assert torch.equal(x[:, mask], wanted[:, mask])
    assert not torch.equal(x[:, ~mask], wanted[:, ~mask])
    assert len(seen) == sampler.steps + 1  # before the first step and behind each
    assert seen[-1][0] is None
    draws = []
    for level, held in seen[:-1]:
        signal, noise = signal_and_noise(name, level)
        draws.append(((held - signal * wanted[:, mask]) / noise).flatten())
    assert_follows([(values, normal_cdf) for values in draws])
    # Fresh noise each time: none is what it was before.
    assert abs(float((draws[0] * draws[1]).mean())) < 6 / math.sqrt(len(draws[0]))


def test_without_denoising_the_known_part_has_the_noise_of_the_end():
    """A sample is then one of the law at the earliest time, and so is what is known of it."""
    process = PROCESSES["ou"]
    clean, known = gaussian(process.schedule, (2,)), torch.tensor([[2.0, 0.0]])
    given = Condition(known=known, mask=torch.tensor([True, False]))
    project = given.projection(0, torch.zeros(5000, 2), process.schedule)
    x = run_chain(
        ReverseSDE(steps=5, denoise=False), clean.module, torch.zeros(5000, 2), generator(0), project=project
    ).x
    a, n = process.signal(0.02), process.noise(0.02)
    assert_follows([(x[:, 0], lambda t: normal_cdf((t - 2 * a) / n))])
    kept = given.with_known(x)  # for whoever wants it as it was
    assert kept[:, 0].tolist() == [2.0] * 5000
    assert torch.equal(kept[:, 1], x[:, 1])


def noiseless(project, x):
    """What a projection makes of states that are clean."""

    class State:
        level = None

        def __init__(self, x):
            self.x = x

        def _replace(self, x):
            return State(x)

    return project(State(x), generator(0)).x


@pytest.mark.parametrize("event", [(3,), (1, 2, 2)], ids=str)
def test_masks_of_one_state_and_of_each(event):
    known = torch.arange(1.0, 3 * math.prod(event) + 1).view(3, *event)
    one, each = half(event), torch.stack([half(event), ~half(event), torch.zeros(event, dtype=torch.bool)])
    x = -torch.ones(7, *event)
    rows = [(4 + i) % 3 for i in range(7)]  # chains from the fifth on, and known states in turn
    for mask in (one, each):
        held = noiseless(Condition(known=known, mask=mask).projection(4, x, LEVELS), x)
        for i, row in enumerate(rows):
            where = mask if mask is one else mask[row]
            assert torch.equal(held[i], torch.where(where, known[row], x[i]))


def test_blocks_of_chains_go_on_in_turn():
    known, mask = torch.arange(5.0).view(5, 1), torch.tensor([True])
    given = Condition(known=known, mask=mask)
    blocks = [
        noiseless(given.projection(first, torch.zeros(n, 1), LEVELS), torch.zeros(n, 1))
        for first, n in [(0, 3), (3, 4), (7, 2)]
    ]
    assert torch.cat(blocks)[:, 0].tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3]


def test_known_states_take_the_precision_of_the_chains():
    x = torch.zeros(2, 1, dtype=torch.float32)
    held = noiseless(Condition(known=torch.ones(1, 1), mask=torch.tensor([True])).projection(0, x, LEVELS), x)
    assert held.dtype == torch.float32


def test_nothing_known_holds_nothing():
    known, mask, x = torch.ones(1, 2), torch.tensor([True, False]), torch.zeros(3, 2)
    assert Condition(label=3).projection(0, x, LEVELS) is None
    assert Condition(known=known).projection(0, x, LEVELS) is None
    assert Condition(mask=mask).projection(0, x, LEVELS) is None
    assert Condition(known=known, mask=mask).projection(0, x, None) is None


def test_one_way_samplers_know_their_level_and_only_they():
    for offer in ebmkit_components():
        if offer.kind != "sampler":
            continue
        sampler = instance(offer.load())
        model, event = model_for(sampler, (3,))
        module, rng = build(model, event), generator(0)
        state = sampler.init(Energy(module), states(model, 2, event, rng), rng)
        assert hasattr(state, "level") == sampler.traits().from_noise, sampler


@pytest.mark.parametrize("name", SETTINGS)
def test_to_hold_a_part_makes_no_device_wait(name):
    schedule, sampler = SETTINGS[name]
    module, known, mask = gaussian(schedule, (2,)).module.float(), torch.ones(2, 2), torch.tensor([True, False])
    with pretended_device() as gpu:
        module, x = module.to(gpu.device), torch.zeros(5, 2, dtype=torch.float32).to(gpu.device)
        project = Condition(known=known, mask=mask).projection(0, x, schedule)
        with gpu.watched() as seen:
            ended = run_chain(sampler, module, x, gpu.generator(0), project=project).x
        seen.require_no_host_syncs()
        assert ended.device == gpu.device
        assert ended.cpu()[:, 0].tolist() == [1.0] * 5


def conditional(clean, mask, known):
    """Mean and covariance of the rest, given what is known exactly."""
    C, m = clean.covariance, clean.mean
    gain = C[~mask][:, mask] @ C[mask][:, mask].inverse()
    return m[~mask] + gain @ (known[mask] - m[mask]), C[~mask][:, ~mask] - gain @ C[mask][:, ~mask]


def inpainted(sampler, clean, mask, known, draws):
    """Mean of the rest, as a sampler with a held part leaves it, without chance."""
    d = len(mask)
    project = Condition(known=known[None], mask=mask).projection(
        0, torch.zeros(1 + d + draws * d, d), clean.module.schedule
    )
    return moments(sampler, clean.module, (d,), draws=draws, project=project)[-1][0][~mask]


def limit_of_held_means(process, clean, mask, known, steps=500):
    """The mean of the rest if steps are small: the reverse drift with the known part at its mean, by RK4."""
    a, n, f, g2 = process.signal, process.noise, process.drift, process.diffusion
    schedule = process.schedule

    def slope(t, m):
        x = torch.where(mask, a(t) * known, m)
        precision, offset = clean.pull(a(t), n(t))
        return torch.where(mask, 0.0, f(t) * m - g2(t) * (offset - precision @ x))

    m, h = torch.zeros_like(clean.mean), (schedule.earliest - schedule.horizon) / steps
    for i in range(steps):
        t = schedule.horizon + i * h
        k1 = slope(t, m)
        k2 = slope(t + h / 2, m + h / 2 * k1)
        k3 = slope(t + h / 2, m + h / 2 * k2)
        m = m + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(t + h, m + h * k3))
    t = schedule.earliest
    precision, offset = clean.pull(a(t), n(t))
    x = torch.where(mask, a(t) * known, m)
    return ((x + n(t) ** 2 * (offset - precision @ x)) / a(t))[~mask]


@pytest.mark.parametrize("d", [2, 10])
def test_what_is_known_pulls_the_rest_but_not_all_the_way(d):
    """To hold a part is not to condition on it: while there is noise, the rest feels the noisy part alone, and later it
    is too stiff to follow. As steps get smaller, the mean tends to what that says, and not to the conditional mean. A
    corrector lets both collect. Of the pull on the mean there is, with d = 2 and d = 10: in the limit 0.51 and 0.51,
    with one correction a step 0.61 and 0.59, with eight longer ones 0.89 and 0.86.
    """
    process = PROCESSES["vp"]
    clean, mask = gaussian(process.schedule, (d,)), half((d,))
    known = clean.mean + 3 * torch.where(mask, 1.0, 0.0)
    exact, _ = conditional(clean, mask, known)
    pull = exact - clean.mean[~mask]

    def share(mean):
        return float((mean - clean.mean[~mask]) @ pull / (pull @ pull))

    held = inpainted(ReverseSDE(steps=200), clean, mask, known, 2)
    limit = limit_of_held_means(process, clean, mask, known)
    torch.testing.assert_close(held, limit, rtol=0.02, atol=0.02)
    corrected = [
        inpainted(PredictorCorrector(steps=100, corrections=n, snr=snr), clean, mask, known, n + 2)
        for n, snr in [(1, 0.16), (8, 0.4)]
    ]
    shares = [share(mean) for mean in (limit, held, *corrected)]
    assert 0.4 < shares[1] < shares[2] < shares[3] < 1.01, shares
    assert shares[3] > 0.8, shares
