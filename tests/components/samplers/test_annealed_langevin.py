"""`annealed_langevin`: every step against the algorithm as it is printed, moments on Gaussian data, a far mixture."""

import gc
import math
import weakref

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import Energy
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.samplers.annealed_langevin import AnnealedLangevin
from ebmkit.components.schedules.constant import Constant
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.linear import Linear
from tests.components.diffusions import CHAINS, far_mixture, gaussian, moments, share_of_the_small_mode
from tests.components.oracles import EVENTS, assert_follows, generator, normal_cdf

SCHEDULES = {
    "geometric": (Geometric(sigma_max=4.0, sigma_min=0.25, count=5), [4.0, 2.0, 1.0, 0.5, 0.25]),
    "linear": (Linear(sigma_max=2.0, sigma_min=0.5, count=4), [2.0, 1.5, 1.0, 0.5]),
    "constant": (Constant(sigma=0.5), [0.5]),
}


@pytest.mark.parametrize("denoise", [True, False])
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_it_is_the_printed_algorithm_with_the_same_random_numbers(event, name, denoise):
    """Song and Ermon, algorithm 1: alpha_i = eps sigma_i^2 / sigma_L^2, x + alpha_i / 2 s + sqrt(alpha_i) z."""
    schedule, sigmas = SCHEDULES[name]
    clean, n, T, eps = gaussian(schedule, event), 4, 3, 0.06
    sampler = AnnealedLangevin(schedule=schedule, steps_per_level=T, step_size=eps / 2, denoise=denoise)
    assert sampler.steps == len(sigmas) * T + denoise
    energy, rng, same = Energy(clean.module), generator(2), generator(2)
    state = sampler.init(energy, torch.full((n, *event), 17.0), rng)
    assert state.level == pytest.approx(sigmas[0])
    x = sigmas[0] * torch.empty(n, *event).normal_(generator=same).flatten(1)
    torch.testing.assert_close(state.x.flatten(1), x, rtol=1e-12, atol=0)

    def score(x, sigma):
        precision, offset = clean.pull(1, sigma)
        return offset - x @ precision

    for sigma in sigmas:
        alpha = eps * sigma**2 / sigmas[-1] ** 2
        for _ in range(T):
            state, info = sampler.step(energy, state, rng)
            torch.testing.assert_close(info.gradient.flatten(1), -score(x, sigma), rtol=1e-10, atol=1e-10)
            z = torch.empty(n, *event).normal_(generator=same).flatten(1)
            x = x + alpha / 2 * score(x, sigma) + math.sqrt(alpha) * z
            torch.testing.assert_close(state.x.flatten(1), x, rtol=1e-12, atol=1e-12)
            assert state.level == pytest.approx(sigma)
    if denoise:  # the mean of x0 given x
        state, _ = sampler.step(energy, state, rng)
        d = x.shape[1]
        gain = clean.covariance @ (clean.covariance + sigmas[-1] ** 2 * torch.eye(d)).inverse()
        x = clean.mean + (x - clean.mean) @ gain.T
        torch.testing.assert_close(state.x.flatten(1), x, rtol=1e-12, atol=1e-12)
        assert state.level is None
    whole = run_chain(sampler, clean.module, torch.zeros(n, *event), generator(2)).x.flatten(1)
    torch.testing.assert_close(whole, x, rtol=1e-12, atol=1e-12)


def test_default_step_size_is_the_published_one():
    """eps = 2e-5 at sigma_L = 0.01, in our clock 1e-5."""
    published = AnnealedLangevin(step_size=1e-5)
    schedule = Geometric(sigma_max=1.0, sigma_min=0.01, count=10)
    clean = gaussian(schedule, (3,))
    ends = [
        run_chain(sampler, clean.module, torch.zeros(5, 3), generator(0)).x
        for sampler in (published, AnnealedLangevin())
    ]
    torch.testing.assert_close(*ends, rtol=1e-10, atol=1e-10)


def test_levels_are_the_models_own():
    """`auto` of the sampler is what the model took from its data."""
    module = gaussian(Geometric(sigma_max=4.0, sigma_min=0.25, count=5), (2,)).module
    free, fixed = (
        AnnealedLangevin(schedule=Geometric(sigma_max=most, sigma_min=0.25, count=5), steps_per_level=2)
        for most in ("auto", 4.0)
    )
    ends = [run_chain(sampler, module, torch.zeros(5, 2), generator(0)).x for sampler in (free, fixed)]
    assert torch.equal(*ends)


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_where_init_would_begin_plays_no_part(event):
    schedule, _ = SCHEDULES["geometric"]
    clean, sampler = gaussian(schedule, event), AnnealedLangevin(schedule=schedule, steps_per_level=2)
    starts = torch.zeros(3, *event), torch.full((3, *event), 1e9)
    assert torch.equal(*(run_chain(sampler, clean.module, x, generator(5)).x for x in starts))


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_moments_of_the_chain_follow_the_recursion(event):
    schedule, sigmas = SCHEDULES["geometric"]
    d, clean, T, h = math.prod(event), gaussian(schedule, event), 6, 0.02
    sampler = AnnealedLangevin(schedule=schedule, steps_per_level=T, step_size=h, denoise=False)
    found = moments(sampler, clean.module, event, draws=1)
    values, axes = torch.linalg.eigh(clean.covariance)  # along every axis a recursion of numbers
    mean, variance, center = torch.zeros(d), torch.full((d,), sigmas[0] ** 2), axes.T @ clean.mean
    exact = [(mean, variance)]
    for sigma in sigmas:
        for _ in range(T):
            alpha = h * (sigma / sigmas[-1]) ** 2
            shrink = 1 - alpha / (values + sigma**2)
            mean, variance = center + shrink * (mean - center), shrink**2 * variance + 2 * alpha
            exact.append((mean, variance))
    for (m, c, _), (mean, variance) in zip(found, exact, strict=True):
        torch.testing.assert_close(m, axes @ mean, rtol=1e-11, atol=1e-11)
        torch.testing.assert_close(c, axes @ variance.diag() @ axes.T, rtol=1e-11, atol=1e-11)
    x = run_chain(sampler, clean.module, torch.zeros(20_000, *event), generator(0)).x.flatten(1)
    white = ((x @ axes) - mean) / variance.sqrt()
    assert_follows([(values, normal_cdf) for values in [*white.T[:: max(1, d // 3)], white.sum(1) / math.sqrt(d)]])


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_a_prediction_is_a_step_of_the_reverse_diffusion(event, name):
    """Song et al., algorithm 2, as levels fall: x + (sigma_i^2 - sigma_{i+1}^2) s + sqrt(...) z, then Langevin."""
    schedule, sigmas = SCHEDULES[name]
    clean, n, T, h = gaussian(schedule, event), 4, 3, 0.03
    sampler = AnnealedLangevin(schedule=schedule, steps_per_level=T, step_size=h, predict=True, denoise=False)
    energy, rng, same = Energy(clean.module), generator(2), generator(2)
    state = sampler.init(energy, torch.zeros(n, *event), rng)
    x, made = sigmas[0] * torch.empty(n, *event).normal_(generator=same).flatten(1), 0
    for sigma, lower in zip(sigmas, [*sigmas[1:], None], strict=True):
        precision, offset = clean.pull(1, sigma)
        rates = [(h * sigma**2 / sigmas[-1] ** 2, 2, sigma)] * T
        if lower is not None:
            rates.append((sigma**2 - lower**2, 1, lower))
        for drift, noise, level in rates:
            state, _ = sampler.step(energy, state, rng)
            z = torch.empty(n, *event).normal_(generator=same).flatten(1)
            x, made = x + drift * (offset - x @ precision) + math.sqrt(noise * drift) * z, made + 1
            torch.testing.assert_close(state.x.flatten(1), x, rtol=1e-12, atol=1e-12)
            assert state.level == pytest.approx(level)
    assert made == sampler.steps
    ended = AnnealedLangevin(schedule=schedule, steps_per_level=T, step_size=h, predict=True)
    assert ended.steps == made + 1
    last, _ = ended.step(energy, state, rng)
    covariance = clean.covariance
    gain = covariance @ (covariance + sigmas[-1] ** 2 * torch.eye(len(covariance))).inverse()
    torch.testing.assert_close(last.x.flatten(1), clean.mean + (x - clean.mean) @ gain.T, rtol=1e-12, atol=1e-12)
    assert last.level is None


def test_predictions_follow_data_that_are_wider_than_the_noise():
    """Chains of the default length: Langevin steps alone stop where the noise is far below the data, 13 % too wide in
    variance; with predictions 4 % remain, of which the step size makes a part."""
    schedule = Geometric(sigma_max=10.0, sigma_min=0.01, count=10)
    module = NoisedMixtureModel(schedule=schedule, means=((0.0,),)).build((1,))
    ends = [
        float(moments(AnnealedLangevin(schedule=schedule, predict=predict), module, (1,), draws=1)[-1][1])
        for predict in (False, True)
    ]
    assert ends[0] > 1.1
    assert 1 < ends[1] < 1.05


def test_small_steps_and_many_of_them_end_at_the_law_of_the_last_level():
    """As h falls, the variance at the last level tends to that of noised data: its bias is v / (1 - h / (2 v)) - v."""
    schedule = Constant(sigma=0.5)
    clean = gaussian(schedule, (2,))
    v = torch.linalg.eigvalsh(clean.covariance) + 0.25
    for h in (0.2, 0.02):
        sampler = AnnealedLangevin(schedule=schedule, steps_per_level=round(20 / h), step_size=h, denoise=False)
        mean, covariance, _ = moments(sampler, clean.module, (2,), draws=1)[-1]
        torch.testing.assert_close(mean, clean.mean, rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(torch.linalg.eigvalsh(covariance), v / (1 - h / (2 * v)), rtol=1e-8, atol=0)


def test_a_far_mixture_keeps_its_ratio():
    """Large levels join the modes. Where these part, at a sigma of 2 to 4, it takes many steps: until then a part of
    the large mode reaches over to the other side, which is frozen in if noise falls sooner (here 0.008 too much)."""
    schedule = Linear(sigma_max=5.0, sigma_min=1.0, count=9)
    sampler = AnnealedLangevin(schedule=schedule, steps_per_level=60, step_size=0.3)
    x = run_chain(sampler, far_mixture(schedule), torch.zeros(CHAINS, 2), generator(0)).x
    assert abs(share_of_the_small_mode(x) - 0.2) < 0.02


class Alive(TorchDispatchMode):
    """The most bytes that results of operators held at once."""

    now = most = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        for value in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(value, torch.Tensor) and value.untyped_storage()._cdata not in self.known:
                storage, size = value.untyped_storage(), value.untyped_storage().nbytes()
                self.known.add(storage._cdata)
                self.now += size
                self.most = max(self.most, self.now)
                weakref.finalize(storage, self._gone, storage._cdata, size)
        return result

    def __enter__(self):
        self.known = set()
        return super().__enter__()

    def _gone(self, name, size):
        self.known.discard(name)
        self.now -= size


def peak(sampler, module, x):
    gc.collect()
    with Alive() as alive:
        run_chain(sampler, module, x, generator(0))
    return alive.most


def test_memory_grows_neither_with_levels_nor_with_steps():
    def used(levels, steps):
        schedule = Geometric(sigma_max=4.0, sigma_min=0.25, count=levels)
        module = far_mixture(schedule)
        return peak(AnnealedLangevin(schedule=schedule, steps_per_level=steps), module, torch.zeros(4000, 2))

    state = 4000 * 2 * 8
    few = used(5, 4)
    assert few >= 3 * state  # the measure sees states
    assert abs(used(50, 4) - few) < state / 10
    assert abs(used(5, 40) - few) < state / 10


def test_with_its_defaults_annealed_langevin_leaves_the_width_of_a_gaussian():
    """4,000 chains know a standard deviation to 0.8 % at 1e-6 in two coordinates; 6 % are allowed."""
    schedule = Geometric(sigma_max=8.0)
    module = NoisedMixtureModel(schedule=schedule, means=((0.0, 0.0),)).build((2,))
    x = run_chain(AnnealedLangevin(schedule=schedule), module, torch.zeros(4000, 2), generator(0)).x
    assert 0.94 < float(x.std()) < 1.06
