"""`fisher_divergence`, and `score_error` of conditioned models, against Gaussians and mixtures in closed form."""

import math

import pytest
import torch

from ebmkit.components.metrics.fisher_divergence import FisherDivergence
from ebmkit.components.metrics.score_error import ScoreError
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mlp import MLP
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.schedules.cosine import Cosine
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import EVENTS, generator, random_covariance, rows
from tests.views import FakeView

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
SCHEDULES = {
    "geometric": Geometric(sigma_max=4.0, sigma_min=0.25, count=5),
    "ve": VE(sigma_max=4.0, sigma_min=0.25, horizon=2.0),
    "vp": VP(beta_min=2.0, beta_max=2.0, horizon=1.5, earliest=0.25),
    "cosine": Cosine(sigma_max=3.0, sigma_min=0.2),
}
noises = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)


def signal_and_noise(schedule, share):
    """At a share of the way from the most noise to the least, by hand."""
    match schedule:
        case Geometric() | VE():
            return 1.0, 4.0 * (0.25 / 4.0) ** share
        case VP():
            t = 1.5 - 1.25 * share
            return math.exp(-t), math.sqrt(1 - math.exp(-2 * t))
        case _:
            angle = math.atan(3.0) + (math.atan(0.2) - math.atan(3.0)) * share
            return math.cos(angle), math.sin(angle)


class Run(FakeView):
    """A conditioned module, or a function for the score."""

    def __init__(self, module, test, score=None, seed=0):
        schedule = getattr(module, "schedule", None)
        super().__init__(test, test, test, seed, schedule=schedule, module=module, dtype=torch.float64)
        self.seen = []
        if score:
            self.score = score

    def score(self, x, level=None):
        if level is None:
            level = float(self.schedule.levels()[-1]) if self.schedule.conditioning == "sigma" else None
            level = self.schedule.earliest if level is None else level
        self.seen.append((level, x))
        return self.module.score(x, torch.tensor(level))


def mixture(event):
    d = math.prod(event)
    means, covariances = torch.randn(2, d, generator=generator(1)), [random_covariance(d, k) for k in (2, 3)]
    return {"means": rows(means), "covariances": tuple(map(rows, covariances)), "weights": (1.0, 3.0), "shape": event}


@noises
@shapes
def test_the_exact_score_of_a_mixture_has_no_divergence_at_any_level(event, schedule):
    parts = mixture(event)
    target, module = GaussianMixture(**parts), NoisedMixtureModel(schedule=schedule, **parts).build(event)
    x = target.build(event).sample_exact(40, generator(0))
    metric = FisherDivergence(target=target, levels=3)
    found = metric.measure(Run(module, x))
    assert tuple(found) == metric.results()
    assert max(found.values()) < 1e-20
    other = GaussianMixture(**{**parts, "weights": (1.0, 1.0)})
    assert FisherDivergence(target=other).measure(Run(module, x))["fisher_relative"] > 1e-4


@noises
@shapes
def test_of_a_shifted_gaussian_it_is_the_closed_form_at_every_level(event, schedule):
    """N(c, v I) for N(0, v I) under noise: the scores are signal c / (signal^2 v + noise^2) apart, everywhere, and what
    they are apart from zero is (signal x + noise xi) / (signal^2 v + noise^2)."""
    d, c, v = math.prod(event), 0.7, 0.5
    target = Gaussian(mean=(0.0,) * d, covariance=(v,) * d, shape=event)
    module = NoisedMixtureModel(schedule=schedule, means=((c,) * d,), covariances=(v,), shape=event).build(event)
    x = target.build(event).sample_exact(50, generator(0))
    run = Run(module, x)
    found = FisherDivergence(target=target, levels=3).measure(run)
    relative, rng = [], generator(0)
    for k, share in enumerate((0.0, 0.5, 1.0)):
        a, n = signal_and_noise(schedule, share)
        noised = a * x + n * torch.empty_like(x).normal_(generator=rng)
        torch.testing.assert_close(run.seen[k][1], noised, rtol=0, atol=1e-10)
        variance = a * a * v + n * n
        off = d * (a * c / variance) ** 2
        relative.append(off / (noised.square().flatten(1).sum(1).mean() / variance**2))
    assert found["fisher_divergence"] == pytest.approx(off / 2, rel=1e-9)
    assert [found[f"fisher_relative_{k}"] for k in (1, 2, 3)] == pytest.approx([float(r) for r in relative], rel=1e-9)
    assert found["fisher_relative"] == max(found[f"fisher_relative_{k}"] for k in (1, 2, 3))


@shapes
def test_of_a_plain_model_it_is_the_closed_form_at_the_data(event):
    """s = -x / 4 and s_q = -x: a relative error of (3/4)^2, and half the whole."""
    d = math.prod(event)
    target = Gaussian(mean=(0.0,) * d, covariance=(1.0,) * d, shape=event)
    x = torch.randn(30, *event, generator=generator(0))
    found = FisherDivergence(target=target).measure(Run(None, x, lambda x: -x / 4))
    assert found["fisher_relative"] == pytest.approx(0.75**2, abs=1e-12)
    squared = float(x.flatten(1).square().sum(1).mean())
    assert found["fisher_divergence"] == pytest.approx(0.75**2 * squared / 2, abs=1e-12)


@pytest.mark.parametrize("levels", [None, 1, 2, 4])
@noises
def test_levels_are_even_from_the_most_noise_to_the_least(levels, schedule):
    module = NoisedMixtureModel(schedule=schedule, means=((0.0,),)).build((1,))
    run = Run(module, torch.zeros(2, 1))
    metric = FisherDivergence(target=Gaussian(mean=(0.0,)), levels=levels)
    assert tuple(metric.measure(run)) == metric.results()
    count = levels or 5
    shares = [k / (count - 1) for k in range(count)] if count > 1 else [1.0]
    if isinstance(schedule, Geometric):
        known = schedule.levels().tolist()
        expected = {None: known, 1: known[-1:], 2: [known[0], known[4]], 4: [known[k] for k in (0, 1, 3, 4)]}[levels]
    else:
        expected = [schedule.horizon + (schedule.earliest - schedule.horizon) * share for share in shares]
    assert [level for level, _ in run.seen] == pytest.approx(expected)


@noises
@pytest.mark.parametrize("d", [1, 2, 10])
def test_score_error_is_of_the_score_at_the_least_noise_in_the_units_of_the_data(d, schedule):
    """N(0, I) with noise sigma has the score -y / (1 + sigma^2), whatever is left of the signal."""
    module = NoisedMixtureModel(schedule=schedule, means=((0.0,) * d,)).build((d,))
    x = torch.randn(500, d, generator=generator(0))
    found = ScoreError(target=Gaussian(mean=(0.0,) * d), quantile=0.3).measure(Run(module, x))
    a, n = signal_and_noise(schedule, 1.0)
    exact = (1 - 1 / (1 + (n / a) ** 2)) ** 2
    assert [found["score_error"], found["score_error_rare"]] == pytest.approx([exact] * 2, rel=1e-9)


def spec(metric, **changes):
    levels = {"use": "geometric", "sigma_max": 5.0, "count": 3}
    return {
        "ebmkit": 1,
        "data": "two_moons",
        "model": {"use": "mlp_score", "schedule": levels},
        "sampler": {"use": "annealed_langevin", "schedule": levels},
        "evaluate": [metric],
        **changes,
    }


def test_what_cannot_be_compared_is_refused():
    plain = {"model": "mlp", "sampler": "langevin"}
    truth = {"target": "gaussian_mixture"}
    compared = [{"use": "fisher_divergence", **truth}, {"use": "score_error", **truth}]
    for metric in (*compared, "denoising"):
        load_spec(spec(metric))
        load_spec(spec(metric, **plain))
    for metric in ("fisher_divergence", "score_error"):
        with pytest.raises(Mistakes, match="needs 'target'"):
            load_spec(spec(metric))
    with pytest.raises(Mistakes, match="evaluates 4 levels, but the model has 3"):
        load_spec(spec({"use": "fisher_divergence", "levels": 4, **truth}))
    with pytest.raises(Mistakes, match="has 'levels', but the model is not conditioned on noise"):
        load_spec(spec({"use": "fisher_divergence", "levels": 1, **truth}, **plain))
    labelled = {"use": "mlp_score", "schedule": {"use": "geometric", "sigma_max": 5.0, "count": 3}, "classes": 10}
    for metric in compared:
        with pytest.raises(Mistakes, match="without labels, but this one takes labels"):
            load_spec(spec(metric, model=labelled))
    machine = {"use": "boltzmann", "biases": [0.3, 0.3]}
    discrete = {"data": {"use": "from_model", "model": machine}, "model": machine, "sampler": "gibbs"}
    for metric in (*compared, "denoising"):
        with pytest.raises(Mistakes, match="needs real states"):
            load_spec(spec(metric, **discrete))
    with pytest.raises(Mistakes, match="whose states have shape"):
        load_spec(spec({"use": "fisher_divergence", "target": {"use": "gaussian", "mean": [0, 0, 0]}}))
    with pytest.raises(ValueError, match=r"takes its shape from data|does not offer"):
        FisherDivergence(target=MLP())


def test_without_data_there_is_no_mean():
    run = Run(None, torch.zeros(1, 1))
    run.data = lambda split: None
    with pytest.raises(ValueError, match="needs a spec with data"):
        FisherDivergence(target=GaussianMixture()).measure(run)
