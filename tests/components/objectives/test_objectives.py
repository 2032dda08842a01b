"""The objectives, against exact gradients and second implementations."""

import math
from typing import ClassVar

import pytest
import torch

from ebmkit.chains.context import StepContext
from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.inits.data import DataStart
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.inits.replay import Replay
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mlp import MLP
from ebmkit.components.objectives.bregman import BregmanRatioMatching
from ebmkit.components.objectives.denoising_score_matching import DenoisingScoreMatching
from ebmkit.components.objectives.mle import MLE
from ebmkit.components.objectives.nce import NCE
from ebmkit.components.samplers.exact import Exact
from ebmkit.components.samplers.langevin import Langevin, LangevinState
from ebmkit.contracts.kinds import Sampler, StepInfo
from tests.components.oracles import EVENTS, assert_mean, generator, numeric_gradient, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


def mixture(event, seed=0):
    d = math.prod(event)
    means = torch.randn(2, d, generator=generator(seed))
    covariances = (rows(random_covariance(d, seed)), rows(random_covariance(d, seed + 1)))
    return GaussianMixture(means=rows(means), covariances=covariances, weights=(1.0, 2.0), shape=event).build(event)


def gradient(value, module):
    """All parameter gradients in one vector."""
    return torch.cat([g.flatten() for g in torch.autograd.grad(value, list(module.parameters()))])


class Fixed(Sampler):
    """Chains that always end at the same points, whatever the model."""

    steps: ClassVar[int] = 1

    def __init__(self, x):
        self.x = x

    def init(self, energy, x, rng):
        return LangevinState(x)

    def step(self, energy, state, rng):
        return LangevinState(self.x), StepInfo()


class InverseCDF(Fixed):
    """Evenly spaced quantiles of a one-dimensional energy, by quadrature: model samples without scatter."""

    def __init__(self):
        pass

    def step(self, energy, state, rng):
        grid = torch.linspace(-12, 12, 20_001)[:, None]
        cdf = torch.softmax(-energy(grid), 0).cumsum(0)
        u = (torch.arange(len(state.x)) + 0.5) / len(state.x)
        right = torch.searchsorted(cdf, u)
        part = (u - cdf[right - 1]) / (cdf[right] - cdf[right - 1])
        return LangevinState(torch.lerp(grid[right - 1, 0], grid[right, 0], part)[:, None]), StepInfo()


# --- mle -------------------------------------------------------------------------------------------------------------


def test_mle_gradient_is_the_exact_likelihood_gradient_of_a_network():
    torch.manual_seed(0)
    net = MLP(hidden=(6,)).build((1,))
    data = torch.randn(4000, 1, generator=generator(0)) * 0.5 + 0.4
    objective = MLE(sampler=InverseCDF(), init=DataStart(), energy_l2=0.0)
    context = StepContext(generator(1), objective.extras((1,), data), 1)
    grid = torch.linspace(-12, 12, 20_001)[:, None]
    log_z = torch.logsumexp(-net(grid), 0) + math.log(24 / 20_000)
    exact = torch.autograd.grad((net(data).mean() + log_z), list(net.parameters()), allow_unused=True)
    got = torch.autograd.grad(objective.loss(net, data, context).value, list(net.parameters()))
    for a, b in zip(got, exact, strict=True):
        torch.testing.assert_close(a, b, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize(
    "make", [mixture, lambda event: Gaussian(mean=(0.3,) * math.prod(event), shape=event).build(event)]
)
@shapes
def test_mle_gradient_with_exact_samples_is_unbiased(make, event):
    module = make(event)
    data = torch.randn(200, *event, generator=generator(0)) + 0.5
    exact = gradient(module(data).mean() + module.log_z(), module)
    objective = MLE(sampler=Exact(), init=NoiseStart(), energy_l2=0.0)
    context = StepContext(generator(1), objective.extras(event, data), 1)
    draws = torch.stack([gradient(objective.loss(module, data, context).value, module) for _ in range(60)])
    assert_mean(draws, exact)


@shapes
def test_mle_from_data_is_contrastive_divergence(event):
    """The gradient of CD-3, with the chain run here by hand."""
    module = MLP(hidden=(5,)).build(event)
    data = torch.randn(40, *event, generator=generator(0))
    objective = MLE(sampler=Langevin(steps=3, step_size=0.05), init=DataStart(), energy_l2=0.0)
    loss = objective.loss(module, data, StepContext(generator(1), objective.extras(event, data), 1))
    x, rng = data.clone(), generator(1)
    for _ in range(3):
        x.requires_grad_()
        (slope,) = torch.autograd.grad(module(x).sum(), x)
        xi = torch.empty_like(x).normal_(0, math.sqrt(0.1), generator=rng)
        x = (x - 0.05 * slope + xi).detach()
    params = list(module.parameters())
    up, down = torch.autograd.grad(module(data).mean(), params), torch.autograd.grad(module(x).mean(), params)
    for got, a, b in zip(torch.autograd.grad(loss.value, params), up, down, strict=True):
        torch.testing.assert_close(got, a - b)
    torch.testing.assert_close(loss.metrics["gap"], module(data).mean().detach() - module(x).mean().detach())
    torch.testing.assert_close(loss.metrics["energy_data"], module(data).mean().detach())
    torch.testing.assert_close(loss.metrics["energy_model"], module(x).mean().detach())


def test_mle_penalty_is_on_both_phases():
    module, data, ends = MLP(hidden=(5,)).build((2,)), torch.randn(10, 2), torch.randn(10, 2)
    objective = MLE(sampler=Fixed(ends), init=DataStart(), energy_l2=0.3)
    value = objective.loss(module, data, StepContext(generator(0), objective.extras((2,), data), 1)).value
    a, b = module(data), module(ends)
    torch.testing.assert_close(value, a.mean() - b.mean() + 0.3 * (a.pow(2).mean() + b.pow(2).mean()))


def test_mle_keeps_its_chains_and_leaves_the_model_as_it_was():
    module, data = MLP(hidden=(5,)).build((2,)), torch.randn(10, 2)
    objective = MLE(sampler=Langevin(steps=2), init=Replay(size=10, rejuvenation=0.0))
    starts = objective.extras((2,), data)
    objective.loss(module, data, StepContext(generator(0), starts, 1))
    assert bool(starts.used.all())
    first = starts.positions.clone()
    objective.loss(module, data, StepContext(generator(1), starts, 2))
    assert 0 < float((starts.positions - first).abs().max()) < 2  # went on from where they were
    assert module.training
    assert all(p.requires_grad for p in module.parameters())


# --- denoising score matching ----------------------------------------------------------------------------------------


@shapes
def test_dsm_gradient_is_that_of_explicit_score_matching_on_the_noised_data(event):
    truth, sigma = mixture(event), 0.6
    noised = truth.noised(sigma)
    torch.manual_seed(0)
    module = MLP(hidden=(4,)).build(event)
    objective = DenoisingScoreMatching(sigma=sigma)
    params = [p for name, p in module.named_parameters() if name != "last.bias"]
    draws, explicit = [], []
    for seed in range(40):
        batch = truth.sample_exact(500, generator(seed))
        value = objective.loss(module, batch, StepContext(generator(1000 + seed), None, 1)).value
        x = batch + sigma * torch.empty_like(batch).normal_(generator=generator(1000 + seed))
        x.requires_grad_()
        (slope,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
        score = -noised.energy_and_grad(x.detach())[1].detach()
        expected = (-slope - score).flatten(1).pow(2).sum(1).mean() / 2
        draws.append(torch.cat([g.flatten() for g in torch.autograd.grad(value, params)]))
        explicit.append(torch.cat([g.flatten() for g in torch.autograd.grad(expected, params)]))
    draws, explicit = torch.stack(draws), torch.stack(explicit)
    assert_mean(draws - explicit, 0.0)  # the same noise in both: their difference alone scatters
    assert float(explicit.mean(0).norm()) > 3 * float((draws - explicit).std(0).norm()) / math.sqrt(
        40
    )  # not by weakness


@shapes
def test_dsm_value_at_the_optimum(event):
    """For Gaussian data the least loss is 1/2 (d/sigma^2 - tr (C + sigma^2 I)^-1): the 1/2 and the sum over axes."""
    d, sigma = math.prod(event), 0.5
    covariance = random_covariance(d, 3)
    data = Gaussian(mean=(0.2,) * d, covariance=rows(covariance), shape=event).build(event)
    objective, best = DenoisingScoreMatching(sigma=sigma), data.noised(sigma)
    values = [
        objective.loss(best, data.sample_exact(1000, generator(seed)), StepContext(generator(seed + 99), None, 1)).value
        for seed in range(30)
    ]
    blurred = covariance + sigma**2 * torch.eye(d)
    assert_mean(torch.stack(values).detach(), (d / sigma**2 - float(torch.linalg.inv(blurred).trace())) / 2)


# --- nce and bregman -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
@shapes
def test_nce_is_logistic_regression_between_data_and_noise(event, ratio):
    """Written once more with probabilities instead of logits."""
    module, data = mixture(event), torch.randn(20, *event, generator=generator(0))
    objective = NCE(noise_ratio=ratio)
    contrast = objective.extras(event, data)
    with torch.no_grad():
        contrast.log_z.fill_(0.7)
    value = objective.loss(module, data, StepContext(generator(1), contrast, 1)).value
    noise = contrast.noise.sample(round(20 * ratio), generator(1))

    def is_data(x):
        model = torch.exp(-module(x) - 0.7)
        return model / (model + ratio * contrast.noise.log_prob(x).exp())

    torch.testing.assert_close(value, -is_data(data).log().mean() - ratio * (1 - is_data(noise)).log().mean())


@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.0])
@shapes
def test_bregman_with_logistic_is_nce(event, ratio):
    module, data = MLP(hidden=(5,)).build(event), torch.randn(30, *event, generator=generator(0))
    results = []
    for objective in (
        NCE(noise_ratio=ratio),
        BregmanRatioMatching(generator=Logistic(noise_ratio=ratio), noise_ratio=ratio),
    ):
        contrast = objective.extras(event, data)
        value = objective.loss(module, data, StepContext(generator(1), contrast, 1)).value
        params = [*module.parameters(), contrast.log_z]
        results.append((value, *torch.autograd.grad(value, params)))
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("make", [NCE, BregmanRatioMatching])
@shapes
def test_log_z_of_a_gaussian_is_recovered_within_one_percent(make, event):
    d = math.prod(event)
    module = Gaussian(mean=(0.5,) * d, covariance=rows(random_covariance(d, 4) * 4), shape=event).build(event)
    data = module.sample_exact(20_000, generator(0))
    objective = make(noise_ratio=4.0)
    contrast = objective.extras(event, data)
    search = torch.optim.LBFGS([contrast.log_z], max_iter=30, line_search_fn="strong_wolfe")

    def closure():
        search.zero_grad()
        value = objective.loss(module, data, StepContext(generator(1), contrast, 1)).value
        value.backward()
        return value

    search.step(closure)
    assert float(contrast.log_z.detach()) == pytest.approx(float(module.log_z().detach()), rel=0.01)


def test_log_z_stays_zero_when_it_is_not_learnt():
    contrast = NCE(learn_log_z=False).extras((2,), torch.randn(10, 2))
    assert not contrast.log_z.requires_grad
    assert float(contrast.log_z) == 0


# --- all -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objective",
    [
        MLE(sampler=Fixed(torch.randn(8, 2, generator=generator(9), dtype=torch.float64)), init=DataStart()),
        DenoisingScoreMatching(),
        NCE(),
        NCE(noise_ratio=0.5),
        BregmanRatioMatching(),
    ],
    ids=lambda o: o.component_name,
)
def test_gradients_by_finite_differences(objective):
    torch.manual_seed(1)
    module, data = MLP(hidden=(3,)).build((2,)), torch.randn(8, 2, generator=generator(0))
    extras = objective.extras((2,), data)
    params = [*module.parameters(), *(p for p in (extras.parameters() if extras else ()) if p.requires_grad)]

    def value():
        return objective.loss(module, data, StepContext(generator(1), extras, 1)).value

    analytic = torch.autograd.grad(value(), params, allow_unused=True)
    for parameter, slope in zip(params, analytic, strict=True):
        expected = torch.zeros_like(parameter) if slope is None else slope
        torch.testing.assert_close(expected, numeric_gradient(value, parameter), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("objective", [MLE(), DenoisingScoreMatching(), NCE(), BregmanRatioMatching()])
def test_metrics_are_detached_scalars(objective):
    data = torch.randn(8, 2)
    loss = objective.loss(
        MLP(hidden=(3,)).build((2,)), data, StepContext(generator(0), objective.extras((2,), data), 1)
    )
    assert loss.value.shape == ()
    assert loss.value.requires_grad
    assert all(v.shape == () and not v.requires_grad for v in loss.metrics.values())
