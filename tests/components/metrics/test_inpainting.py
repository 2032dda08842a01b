"""The metric `inpainting` and what it draws, against Gaussians, whose chains can be worked out."""

import math
from types import SimpleNamespace

import pytest
import torch

from ebmkit import load_spec
from ebmkit.components.metrics.inpainting import Inpainting
from ebmkit.components.samplers.reverse_time import reverse_steps
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.question import Question
from ebmkit.engine.conditioning import Condition
from ebmkit.engine.sampling import view_of
from ebmkit.errors.base import Mistakes
from tests.components.oracles import assert_follows, generator, normal_cdf
from tests.views import FakeView, model_for, viewed_spec

SAMPLERS = {
    "reverse_sde": {"use": "reverse_sde", "schedule": {"use": "vp"}, "steps": 40},
    "reverse_sde, no denoising": {"use": "reverse_sde", "schedule": {"use": "vp"}, "steps": 40, "denoise": False},
    "annealed_langevin": {
        "use": "annealed_langevin",
        "schedule": {"use": "geometric", "sigma_max": 3.0, "sigma_min": 0.05, "count": 8},
        "steps_per_level": 5,
    },
}


def spec(sampler, rho, **others):
    """A Gaussian of unit variances, under noise."""
    covariance = [[1.0, rho], [rho, 1.0]]
    law = {"means": [[0.0, 0.0]], "covariances": [covariance]}
    return {
        "ebmkit": 1,
        "data": {
            "use": "from_model",
            "model": {"use": "gaussian", "mean": [0.0, 0.0], "covariance": covariance},
            "size": 500,
            "test_size": 4000,
        },
        "model": {"use": "noised_mixture", "schedule": sampler["schedule"], **law},
        "sampler": sampler,
        **others,
    }


def view_on(sampler, rho):
    return view_of(load_spec(spec(sampler, rho)), None)


def moves(sampler):
    """Each step of a chain: factor of x, factor of the score, variance of the noise, signal and noise where the score
    is taken, and signal and noise behind the step, None without."""
    if sampler["use"] == "reverse_sde":
        schedule, found = VP(), []
        for leg in reverse_steps(schedule, sampler["steps"], "log_snr"):
            at = tuple(map(float, schedule.at(torch.tensor(leg.start))))
            found.append((leg.stretch, leg.kick, leg.spread**2, at, (leg.signal, leg.noise)))
        last = found[-1][4]
        # The clean state is made in the last step, before anything is put in place.
        return found, (1 / last[0], last[1] ** 2 / last[0], last)
    numbers = sampler["schedule"]
    ratio = numbers["sigma_min"] / numbers["sigma_max"]
    levels = [numbers["sigma_max"] * ratio ** (k / (numbers["count"] - 1)) for k in range(numbers["count"])]
    steps = [(1.0, s**2 / 10, s**2 / 5, (1.0, s), (1.0, s)) for s in levels for _ in range(sampler["steps_per_level"])]
    return steps, (1.0, levels[-1] ** 2, (1.0, levels[-1]))


def law_of_the_rest(sampler, rho, known):
    """Mean and variance of the second coordinate at the end, where the first is `known`: every step is linear, so that
    means and covariances go along exactly."""
    covariance = torch.tensor([[1.0, rho], [rho, 1.0]])
    steps, (stretch, kick, last) = moves(sampler)

    def pull(signal, noise):
        return torch.linalg.inv(signal**2 * covariance + noise**2 * torch.eye(2))

    def placed(mean, spread, signal, noise):
        mean, spread = mean.clone(), spread.clone()
        mean[0], spread[0], spread[:, 0] = signal * known, 0.0, 0.0
        spread[0, 0] = noise**2
        return mean, spread

    prior = 1.0 if sampler["use"] == "reverse_sde" else sampler["schedule"]["sigma_max"]
    mean, spread = placed(torch.zeros(2), prior**2 * torch.eye(2), *steps[0][3])
    for position, (factor, towards, variance, at, behind) in enumerate(steps):
        matrix = factor * torch.eye(2) - towards * pull(*at)
        mean, spread = matrix @ mean, matrix @ spread @ matrix.T + variance * torch.eye(2)
        if position < len(steps) - 1 or sampler["use"] == "annealed_langevin":
            mean, spread = placed(mean, spread, *behind)
    if sampler.get("denoise", True):
        matrix = stretch * torch.eye(2) - kick * pull(*last)
        mean, spread = matrix @ mean, matrix @ spread @ matrix.T
    return float(mean[1]), float(spread[1, 1])


@pytest.mark.parametrize("rho", [0.0, 0.8])
@pytest.mark.parametrize("name", SAMPLERS)
def test_the_missing_half_has_the_law_that_the_steps_give_it(name, rho):
    """At three known values; those stay as they are to the last bit."""
    sampler, view = SAMPLERS[name], view_on(SAMPLERS[name], rho)
    mask, checks = torch.tensor([True, False]), []
    for seed, known in enumerate((-1.5, 0.0, 1.0)):
        x = torch.full((8000, 2), known, dtype=torch.float32)
        drawn = view.inpainted(x, mask, generator(seed)).double()
        assert bool((drawn[:, 0] == known).all())
        mean, variance = law_of_the_rest(sampler, rho, known)
        checks.append((drawn[:, 1], lambda u, m=mean, v=variance: normal_cdf((u - m) / math.sqrt(v))))
    assert_follows(checks)


@pytest.mark.parametrize("t", [0.1, 0.7])
def test_what_is_put_in_place_is_noised_as_much_as_the_rest(t):
    """N(signal x, noise^2), anew at each step; the chains themselves hardly show how wide it is."""
    at = SimpleNamespace(x=torch.zeros(20_000, 2), level=t, _replace=lambda x: x)
    project = Condition(known=torch.full((1, 2), 1.5), mask=torch.tensor([True, False])).projection(0, at.x, VP())
    signal = math.exp(-(0.1 * t + 19.9 / 2 * t**2) / 2)
    rng, noise = generator(0), math.sqrt(1 - signal**2)
    one, two = project(at, rng), project(at, rng)
    assert_follows([(each[:, 0], lambda u: normal_cdf((u - 1.5 * signal) / noise)) for each in (one, two)])
    assert not torch.equal(one, two)
    assert bool((one[:, 1] == 0).all())


def test_independent_halves_know_nothing_of_each_other_and_dependent_ones_too_little():
    """With small steps: the mean of what is drawn is `slope` times what is known, against rho. That of `reverse_sde` is
    (1 - sqrt(1 - rho^2)) / rho, and more Langevin steps bring that of `annealed_langevin` to rho."""
    sampler = {**SAMPLERS["reverse_sde"], "steps": 2000}
    mean, variance = law_of_the_rest(sampler, 0.0, 1.0)
    assert abs(mean) < 1e-12
    assert variance == pytest.approx(1, abs=3e-3)
    for rho, slope in ((0.8, 0.5), (-0.6, -1 / 3)):
        assert law_of_the_rest(sampler, rho, 1.0)[0] == pytest.approx(slope, abs=2e-3)
    mean, variance = law_of_the_rest({**SAMPLERS["annealed_langevin"], "steps_per_level": 500}, 0.8, 1.0)
    assert mean == pytest.approx(0.8, abs=0.01)
    assert variance == pytest.approx(1 - 0.8**2, abs=0.01)


@pytest.mark.parametrize("draws", [1, 4])
def test_the_error_is_that_of_draws_around_a_mean(draws):
    """v / draws + E (slope x_1 - x_2)^2, within 5 standard errors (6e-7)."""
    rho, sampler = 0.8, SAMPLERS["reverse_sde"]
    view = view_on(sampler, rho)
    view.rng = generator(5)
    found = Inpainting(points=4000, draws=draws).measure(view)
    slope, variance = law_of_the_rest(sampler, rho, 1.0)
    exact = variance / draws + (1 - rho**2) + (slope - rho) ** 2
    assert abs(found["inpainting_error"] - exact) < 5 * exact * math.sqrt(2 / 4000)  # the square of a normal number
    assert found["inpainting_error_mean"] == pytest.approx(1, abs=5 * math.sqrt(2 / 4000) + 0.02)


class Run(FakeView):
    """Fillings that are written down beforehand."""

    def __init__(self, test, train, fillings=(), labels=None):
        super().__init__(test, test, train, labels=labels, spec=viewed_spec(model=model_for(labels)))
        self.fillings, self.told = list(fillings), []

    def inpainted(self, known, mask, rng, labels=None):
        self.told.append((known, mask, labels))
        return torch.where(mask, known, known + self.fillings.pop(0))


@pytest.mark.parametrize("keep", ["left", "right", "top", "bottom"])
@pytest.mark.parametrize("event", [(2,), (10,), (1, 4, 4), (5, 3)], ids=str)
def test_the_three_errors_are_those_of_loops(event, keep):
    metric = Inpainting(keep=keep, draws=2)
    if metric.refusal(Question(event, None)):
        assert len(event) == 1
        assert keep in ("top", "bottom")
        return
    train, test = (torch.randn(n, *event, generator=generator(n)) for n in (30, 12))
    run = Run(test, train, fillings=(1.0, 2.0))
    found = metric.measure(run)
    assert found["inpainting_error"] == pytest.approx(1.5**2, abs=1e-12)  # of the mean of both draws
    (x, mask, labels), _ = run.told
    assert labels is None
    known = mask.flatten().tolist()
    center = train.mean(0).flatten()
    by_mean, by_nearest, missing = 0.0, 0.0, known.count(False)
    for point in x.flatten(1):
        nearest = min(
            train.flatten(1), key=lambda y: sum(float((y - point)[i] ** 2) for i in range(len(known)) if known[i])
        )
        for i in range(len(known)):
            if not known[i]:
                by_mean += float((center[i] - point[i]) ** 2) / missing / len(x)
                by_nearest += float((nearest[i] - point[i]) ** 2) / missing / len(x)
    assert found["inpainting_error_mean"] == pytest.approx(by_mean, abs=1e-12)
    assert found["inpainting_error_nearest"] == pytest.approx(by_nearest, abs=1e-12)
    assert tuple(found) == metric.results()


def test_halves_are_halves_and_the_middle_is_missing():
    def shown(keep, event):
        return Inpainting(keep=keep).mask(event).int().tolist()

    assert shown("left", (4,)) == [1, 1, 0, 0]
    assert shown("right", (5,)) == [0, 0, 0, 1, 1]
    assert shown("left", (2, 3)) == [[1, 0, 0], [1, 0, 0]]
    assert shown("top", (1, 2, 2)) == [[[1, 1], [0, 0]]]
    assert shown("bottom", (3, 1)) == [[0], [0], [1]]


def test_a_model_with_labels_is_told_those_of_the_points():
    x = torch.arange(20.0).view(10, 2)
    run = Run(x, x, fillings=(0.0,), labels=torch.arange(10))
    Inpainting(points=6).measure(run)
    ((points, _, labels),) = run.told
    assert labels.tolist() == (points[:, 0] / 2).long().tolist()
    assert len(labels) == 6


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"evaluate": [{"use": "inpainting", "keep": "top"}]}, "a flat state has only 'left' and 'right'"),
        (
            {"evaluate": ["inpainting"], "model": {"use": "gaussian"}, "sampler": {"use": "langevin"}},
            "needs 'score', which model 'gaussian' does not offer",
        ),
    ],
)
def test_what_cannot_be_filled_in_is_refused_before_the_run(changes, words):
    load_spec(spec(SAMPLERS["reverse_sde"], 0.5, evaluate=["inpainting"]))
    with pytest.raises(Mistakes) as refused:
        load_spec({**spec(SAMPLERS["reverse_sde"], 0.5), **changes})
    assert words in str(refused.value)


def test_without_a_sampler_from_noise_nothing_is_filled_in():
    plain = {"ebmkit": 1, "model": {"use": "gaussian"}, "sampler": {"use": "langevin", "steps": 2}}
    view = view_of(load_spec(plain), None)
    with pytest.raises(ValueError, match="no sampler that goes from noise to samples"):
        view.inpainted(torch.zeros(3, *view.event), torch.ones(view.event, dtype=torch.bool), generator(0))
