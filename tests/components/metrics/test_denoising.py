"""Tweedie's formula and the metric `denoising`, against the mean of x given x + sigma xi; and `loss_curve` by hand."""

import math

import pytest
import torch
from torch.distributions import MultivariateNormal

from ebmkit.chains.energy import frozen
from ebmkit.components.metrics.denoising import Denoising
from ebmkit.components.metrics.loss_curve import LossCurve
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mlp_score import MLPScore
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.schedules.cosine import Cosine
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.testing.partner import build as build_module
from tests.components.oracles import EVENTS, assert_mean, generator, random_covariance, rows
from tests.views import FakeView, model_for, viewed_spec

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
SIGMA = 0.6


class Run(FakeView):
    """Held-out points, and a module for the score."""

    def __init__(self, module, test, seed=0, **known):
        super().__init__(test, test, test, seed, module=module, **known)

    def score(self, x, level=None, labels=None):
        with frozen(self.module) as energy:
            return -energy.value_and_grad(x)[1]


def gaussian(event):
    d = math.prod(event)
    covariance = random_covariance(d, 1)
    return Gaussian(mean=(0.4,) * d, covariance=rows(covariance), shape=event).build(event), covariance


def mixture(event):
    """The module, and its weights, means and covariances."""
    d = math.prod(event)
    means, covariances = 2 * torch.randn(2, d, generator=generator(1)), [random_covariance(d, k) for k in (2, 3)]
    model = GaussianMixture(
        means=rows(means), covariances=tuple(map(rows, covariances)), weights=(1.0, 3.0), shape=event
    )
    return model.build(event), (0.25, 0.75), means, covariances


def posterior_mean(y, weights, means, covariances):
    """E[x | y] by Bayes' rule, component by component: no score in it."""
    d = means.shape[1]
    blurred = [c + SIGMA**2 * torch.eye(d) for c in covariances]
    log_p = torch.stack(
        [math.log(w) + MultivariateNormal(m, b).log_prob(y) for w, m, b in zip(weights, means, blurred, strict=True)]
    )
    means_given = torch.stack(
        [m + (y - m) @ torch.linalg.inv(b) @ c for m, b, c in zip(means, blurred, covariances, strict=True)]
    )
    return (log_p.softmax(0).unsqueeze(2) * means_given).sum(0)


def noisy(x, seed=0):
    return x + SIGMA * torch.empty_like(x).normal_(generator=generator(seed))


def decibels(x, error):
    return 10 * math.log10(float(x.max() - x.min()) ** 2 / error)


@shapes
def test_with_the_score_of_the_noised_data_it_is_the_posterior_mean(event):
    """Of a mixture, with the noise of the metric's own generator."""
    module, *parts = mixture(event)
    x = module.sample_exact(300, generator(7))
    found = Denoising(sigma=SIGMA).measure(Run(module.noised(SIGMA), x))
    y = noisy(x)
    best = posterior_mean(y.flatten(1), *parts).view_as(x)
    error = float((best - x).square().mean())
    assert found["denoising_error"] == pytest.approx(error, abs=1e-12)
    assert found["noise_error"] == pytest.approx(float((y - x).square().mean()), abs=1e-12)
    assert found["denoising_psnr"] == pytest.approx(decibels(x, error), abs=1e-10)
    assert tuple(found) == Denoising().results()


@shapes
def test_the_error_of_a_gaussian_is_the_closed_form(event):
    """tr (C - C (C + sigma^2 I)^-1 C) / d, and sigma^2 before; means over 40 draws of the data and of the noise."""
    module, covariance = gaussian(event)
    d = math.prod(event)
    blurred = covariance + SIGMA**2 * torch.eye(d)
    exact = float((covariance - covariance @ torch.linalg.inv(blurred) @ covariance).trace()) / d
    draws = []
    for seed in range(40):
        x = module.sample_exact(1000, generator(seed))
        found = Denoising(sigma=SIGMA).measure(Run(module.noised(SIGMA), x, 100 + seed))
        draws.append([found["denoising_error"], found["noise_error"]])
    assert_mean(torch.tensor(draws), torch.tensor([exact, SIGMA**2]))
    assert exact < 0.9 * SIGMA**2


@pytest.mark.parametrize("wrong", ["clean", "sign", "sigma"])
@shapes
def test_no_other_score_denoises_as_well(event, wrong):
    """The score of the clean data, one upside down, and one for half of the noise. Any score t has a larger error than
    the right one s, by sigma^4 E|t - s|^2 / d; the difference is seen with the same noise in both."""
    sigma = 1.5
    module, *_ = mixture(event)
    right, half = module.noised(sigma), module.noised(sigma / 2)
    gaps = []
    for seed in range(30):
        x = module.sample_exact(500, generator(seed))
        best, other = Run(right, x, seed), Run({"clean": module, "sign": right, "sigma": half}[wrong], x, seed)
        if wrong == "sign":
            other.score = lambda y, *_, best=best: -best.score(y)
        y = x + sigma * torch.empty_like(x).normal_(generator=generator(seed))
        excess = sigma**4 * float((other.score(y) - best.score(y)).square().mean())
        errors = [Denoising(sigma=sigma).measure(run)["denoising_error"] for run in (best, other)]
        gaps.append([errors[1] - errors[0] - excess, excess])
    gaps = torch.tensor(gaps)
    assert_mean(gaps[:, 0], 0.0)
    assert float(gaps[:, 1].mean()) > 6 * float(gaps[:, 0].std()) / math.sqrt(30)  # not by weakness


def test_the_score_of_the_noised_data_is_the_mean_of_what_is_printed():
    """Amini's lecture gives (x - y) / sigma^2 as the ideal score at y = x + sigma xi: it is its mean over x given y, by
    quadrature over x, and no single x gives it."""
    module, _, means, _ = mixture((1,))
    x = torch.arange(-25.0, 25.0, 0.02)
    y = torch.linspace(-4, 4, 9)
    joint = -module(x[:, None])[:, None] - (y - x[:, None]).square() / (2 * SIGMA**2)
    share = joint.softmax(0).detach()
    towards = (x[:, None] - y) / SIGMA**2
    score = Run(module.noised(SIGMA), x).score(y[:, None])[:, 0]
    torch.testing.assert_close(score, (share * towards).sum(0), rtol=0, atol=1e-10)
    spread = (share * (towards - score).square()).sum(0).sqrt()
    assert float(spread.min()) > 0.5
    assert float((means[:, 0] - means[:, 0].mean()).abs().max()) > 0.1  # a mixture indeed


@shapes
def test_a_known_error_is_that_many_decibels(event):
    """Tweedie's formula with a score of zero leaves the noise as it is; the range is that of all coordinates."""
    x = torch.linspace(-1, 3, 24 * math.prod(event)).view(-1, *event)
    run = Run(None, x)
    run.score = lambda y, *_: torch.zeros_like(y)
    found = Denoising(sigma=0.1).measure(run)
    assert found["denoising_error"] == pytest.approx(found["noise_error"], abs=1e-15)
    assert found["denoising_psnr"] == pytest.approx(10 * math.log10(16 / found["noise_error"]), abs=1e-12)


def test_without_data_there_is_nothing_to_denoise():
    run = Run(None, torch.zeros(1, 1))
    run.data = lambda split: None
    with pytest.raises(ValueError, match="denoising needs a spec with data"):
        Denoising().measure(run)


# --- conditioned models ----------------------------------------------------------------------------------------------

SCHEDULES = {
    "geometric": Geometric(sigma_max=4.0, sigma_min=0.1, count=6),  # SIGMA lies between two levels
    "ve": VE(sigma_max=4.0, sigma_min=0.1),
    "vp": VP(beta_min=2.0, beta_max=2.0, horizon=2.0, earliest=0.01),
    "cosine": Cosine(sigma_max=4.0, sigma_min=0.1, horizon=3.0),
}


class NoisedRun(Run):
    """A conditioned module, with labels or without."""

    def __init__(self, module, test, labels=None):
        spec = viewed_spec(model=model_for(labels))
        super().__init__(module, test, schedule=module.schedule, labels=labels, spec=spec)
        self.asked = []

    def score(self, x, level, labels):
        self.asked.append((level, labels))
        with torch.no_grad():
            return self.module.score(x, torch.tensor(level), labels)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
@shapes
def test_a_conditioned_model_is_asked_where_there_is_so_much_noise(event, schedule):
    """With the exact score it is the posterior mean, on processes whose signal fades too."""
    clean, weights, means, covariances = mixture(event)
    model = NoisedMixtureModel(
        schedule=schedule, means=rows(means), covariances=tuple(map(rows, covariances)), weights=weights, shape=event
    )
    x = clean.sample_exact(200, generator(7))
    run = NoisedRun(model.build(event), x)
    found = Denoising(sigma=SIGMA).measure(run)
    y = noisy(x)
    best = posterior_mean(y.flatten(1), weights, means, covariances).view_as(x)
    assert found["denoising_error"] == pytest.approx(float((best - x).square().mean()), abs=1e-10)
    assert found["noise_error"] == pytest.approx(float((y - x).square().mean()), abs=1e-12)
    by_hand = {
        "geometric": SIGMA,
        "ve": math.log(SIGMA / 0.1) / math.log(40),
        "vp": math.log(1 + SIGMA**2) / 2,
        "cosine": 3 * (math.atan(SIGMA) - math.atan(0.1)) / (math.atan(4) - math.atan(0.1)),
    }
    assert run.asked[0][0] == pytest.approx(by_hand[schedule.component_name], abs=1e-10)


def test_a_model_with_labels_is_told_those_of_the_points():
    x, labels = torch.randn(5, 2, generator=generator(0)), torch.arange(5) % 3
    module = build_module(MLPScore(schedule=SCHEDULES["vp"], hidden=(8,), classes=3), (2,))
    run = NoisedRun(module, x, labels)
    Denoising(sigma=SIGMA).measure(run)
    assert run.asked[0][1] is labels


@pytest.mark.parametrize("sigma", [0.05, 5.0])
@pytest.mark.parametrize("name", ["geometric", "ve", "cosine"])
def test_noise_that_a_model_was_not_trained_for_is_an_error(name, sigma):
    run = NoisedRun(NoisedMixtureModel(schedule=SCHEDULES[name], means=((0.0,),)).build((1,)), torch.zeros(2, 1))
    with pytest.raises(ValueError, match=r"outside the range of the model's training, 0\.1 to 4"):
        Denoising(sigma=sigma).measure(run)


# --- loss_curve ------------------------------------------------------------------------------------------------------


def curve(losses, part=0.5):
    series = {"loss": list(enumerate(losses, 1))} if losses else {}
    return LossCurve(part=part).measure(FakeView(series=series))


@pytest.mark.parametrize(
    ("losses", "part", "level", "spread", "drift"),
    [
        ([9.0, 9.0, 9.0, 9.0, 1.0, 3.0, 4.0, 6.0], 0.5, 3.5, math.sqrt(13 / 4), 3 / 3.5),
        ([9.0, 9.0, 9.0, 9.0, 1.0, 3.0, 4.0, 6.0], 0.25, 5.0, 1.0, 2 / 5),
        ([9.0, 9.0, 9.0, 9.0, 1.0, 3.0, 4.0, 6.0], 1.0, 50 / 8, math.sqrt(386 / 8 - 6.25**2), 5.5 / 6.25),
        ([-1.0, -2.0, -3.0], 1.0, -2.0, math.sqrt(2 / 3), 1.5 / 2),  # below zero; the second half is the longer one
        ([5.0, 7.0], 0.1, 7.0, 0.0, 0.0),  # at least one
        ([2.0] * 10, 0.5, 2.0, 0.0, 0.0),
        ([0.0] * 4, 0.5, 0.0, 0.0, 0.0),
    ],
    ids=str,
)
def test_loss_curve_by_hand(losses, part, level, spread, drift):
    found = curve(losses, part)
    assert found == pytest.approx({"loss_level": level, "loss_spread": spread, "loss_drift": drift}, abs=1e-12)
    assert tuple(found) == LossCurve().results()


def test_loss_curve_without_a_loss():
    with pytest.raises(ValueError, match="needs a run with training"):
        curve([])
