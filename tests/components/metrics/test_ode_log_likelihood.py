"""`ode_log_likelihood` against the densities of noised Gaussians and mixtures, in closed form."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch.distributions import MultivariateNormal

from ebmkit.chains.energy import frozen
from ebmkit.components.metrics.ode_log_likelihood import ODELogLikelihood, carry, score_and_divergence
from ebmkit.components.models.mlp_potential import MLPPotential
from ebmkit.components.models.mlp_score import MLPScore
from ebmkit.components.models.noised_mixture import NoisedMixtureModel
from ebmkit.components.schedules.cosine import Cosine
from ebmkit.components.schedules.ve import VE
from ebmkit.components.schedules.vp import VP
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.testing.partner import build
from ebmkit.testing.setting import small_setting
from tests.components.oracles import EVENTS, FALSE_ALARM, generator, random_covariance, rows
from tests.views import FakeView, model_for, viewed_spec

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
#: With so much noise at the end that nothing is left of the data, to 1e-3 nats.
LONG = {
    "ve": VE(sigma_max=5e3, sigma_min=0.05, horizon=2.0),
    "vp": VP(beta_min=0.3, beta_max=20.0, horizon=2.0, earliest=0.01),
    "cosine": Cosine(sigma_max=5e3, sigma_min=0.05),
}
#: With so little that the Gaussian at the end is a poor one.
SHORT = {
    "ve": VE(sigma_max=3.0, sigma_min=0.1),
    "vp": VP(beta_min=2.0, beta_max=2.0, horizon=0.7, earliest=0.05),
    "cosine": Cosine(sigma_max=2.0, sigma_min=0.1, horizon=3.0),
}
WEIGHTS = torch.tensor([0.25, 0.75])


def mixture(schedule, event, components=2):
    """The module, and means and covariances."""
    d = math.prod(event)
    means = torch.randn(components, d, generator=generator(1)) + 0.5
    covariances = [random_covariance(d, k) / 2 for k in range(components)]
    model = NoisedMixtureModel(
        schedule=schedule,
        means=rows(means),
        covariances=tuple(map(rows, covariances)),
        weights=tuple(WEIGHTS[:components].tolist()),
        shape=event,
    )
    return model.build(event), means, covariances


def sigma_at_first(schedule):
    """Noise over signal at the earliest time, by hand."""
    match schedule:
        case VP():
            lost = schedule.beta_min * schedule.earliest
            lost += (schedule.beta_max - schedule.beta_min) * schedule.earliest**2 / (2 * schedule.horizon)
            return math.sqrt(math.expm1(lost))
        case _:
            return schedule.sigma_min


def log_q(x, means, covariances, sigma):
    """The density of a mixture plus noise."""
    blurred = [c + sigma**2 * torch.eye(len(c)) for c in covariances]
    parts = [MultivariateNormal(m, b).log_prob(x.flatten(1)) for m, b in zip(means, blurred, strict=True)]
    weights = WEIGHTS[: len(means)] / WEIGHTS[: len(means)].sum()
    return (torch.stack(parts) + weights.log()[:, None]).logsumexp(0)


def points(n, event, means, covariances, seed=3):
    rng, d = generator(seed), math.prod(event)
    chosen = torch.arange(n) % len(means)
    roots = torch.stack([torch.linalg.cholesky(c) for c in covariances])
    xi = torch.randn(n, d, generator=rng)
    return (means[chosen] + (roots[chosen] @ xi[:, :, None])[:, :, 0]).view(n, *event)


def log_prob(module, x, tolerance=1e-5, probes=None, labels=None):
    with frozen(module):
        return ODELogLikelihood(tolerance=tolerance).log_prob(module, x, labels, probes)


class Run(FakeView):
    def __init__(self, module, test, data=None, labels=None, seed=0):
        spec = viewed_spec(model=model_for(labels), data=data)
        super().__init__(test, test, test, seed, labels=labels, module=module, dtype=torch.float64, spec=spec)


@pytest.mark.parametrize("schedule", LONG.values(), ids=LONG)
@pytest.mark.parametrize("event", [(2,), (10,), (1, 3, 3)], ids=str)
def test_of_a_mixture_it_is_the_density_of_the_noised_data(event, schedule):
    """The score is exact, and so the density of the flow is that of the data plus noise, to 1e-3 nats in the mean."""
    module, means, covariances = mixture(schedule, event)
    x = points(24, event, means, covariances)
    exact = log_q(x, means, covariances, sigma_at_first(schedule))
    found = ODELogLikelihood().measure(Run(module, x))
    assert found["ode_log_likelihood"] == pytest.approx(float(exact.mean()), abs=1e-3)
    bits = -float(exact.mean()) / (math.prod(event) * math.log(2))
    assert found["ode_bits_per_dim"] == pytest.approx(bits, abs=1e-3)


@pytest.mark.parametrize("schedule", SHORT.values(), ids=SHORT)
@shapes
def test_of_a_gaussian_it_is_the_density_of_what_the_prior_becomes(event, schedule):
    """The flow of a Gaussian keeps (x - mean) / deviation along each axis, so that the way of a poor prior is known:
    to 2e-6, and far from the density of the data."""
    module, (mean,), (covariance,) = mixture(schedule, event, 1)
    d, x = math.prod(event), points(10, event, mean[None], [covariance])
    variances, axes = torch.linalg.eigh(covariance)
    sigma = sigma_at_first(schedule)
    match schedule:  # by hand: signal and noise at the last time
        case VE():
            a, n, std = 1.0, 3.0, 3.0
        case VP():
            a, n, std = math.exp(-0.7), math.sqrt(1 - math.exp(-1.4)), 1.0
        case _:
            a, n, std = 1 / math.sqrt(5), 2 / math.sqrt(5), 1.0
    grown = ((a * a * variances + n * n) / (variances + sigma**2)).sqrt()
    end = (a * mean) @ axes + grown * ((x.flatten(1) - mean) @ axes)
    exact = -(end / std).square().sum(1) / 2 - d * math.log(std * math.sqrt(2 * math.pi)) + grown.log().sum()
    torch.testing.assert_close(log_prob(module, x, 1e-8), exact, rtol=0, atol=2e-6)
    assert float((exact - log_q(x, mean[None], [covariance], sigma)).abs().max()) > 0.01


@pytest.mark.parametrize("network", [MLPScore, MLPPotential])
@shapes
def test_the_divergence_is_that_of_finite_differences(event, network):
    """Of networks with random weights, whose Jacobian has no structure, at times of their own."""
    module = build(network(schedule=VP(), hidden=(8,)), event)
    rng = generator(0)
    for parameter in module.parameters():
        parameter.data.normal_(0, 0.5, generator=rng)
    x, t = torch.randn(3, *event, generator=rng), torch.tensor([0.1, 0.5, 0.9])
    with frozen(module):
        score, found = score_and_divergence(module, x, t, None, None)
        eye = 1e-5 * torch.eye(math.prod(event)).view(-1, *event)
        slopes = [(module.score(x + e, t) - module.score(x - e, t)).flatten(1) / 2e-5 for e in eye]
    torch.testing.assert_close(score, module.score(x, t).detach().flatten(1), rtol=0, atol=1e-12)
    exact = torch.stack([slope[:, i] for i, slope in enumerate(slopes)]).sum(0).detach()
    torch.testing.assert_close(found, exact, rtol=1e-5, atol=1e-6)


@shapes
def test_along_the_way_the_divergence_is_that_of_the_velocity(event):
    """The last column of what is integrated is the trace of the Jacobian of the others."""
    module, *_ = mixture(SHORT["vp"], event)
    x, t = torch.randn(2, *event, generator=generator(2)), torch.tensor([0.2, 0.6])
    d = math.prod(event)
    with frozen(module):
        field = carry(module, x, None, None)
        y = torch.cat([x.flatten(1), torch.ones(2, 1)], 1)
        eye = 1e-5 * torch.eye(d + 1)[:d]
        trace = sum((field(t, y + e) - field(t, y - e))[:, i] / 2e-5 for i, e in enumerate(eye))
        torch.testing.assert_close(field(t, y)[:, d], trace, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("event", [(2,), (10,), (1, 4, 4)], ids=str)
def test_random_signs_are_unbiased(event):
    """For each of three points, the mean over 400 draws of two signs, at a false-alarm rate of 1e-6."""
    module, means, covariances = mixture(SHORT["cosine"], event)
    x, copies = points(3, event, means, covariances), 400
    exact = log_prob(module, x, 1e-6)
    signs = torch.randint(2, (2, 3 * copies, math.prod(event)), generator=generator(4)).double() * 2 - 1
    found = log_prob(module, x.repeat(copies, *[1] * len(event)), 1e-6, signs).view(copies, 3)
    z = (found.mean(0) - exact) / (found.std(0) / math.sqrt(copies))
    assert float(torch.special.ndtr(-z.abs()).min()) > FALSE_ALARM / 6, z
    assert float(found.std(0).min()) > 1e-3  # it is an estimate indeed


def test_random_signs_are_exact_in_one_dimension_and_of_diagonal_jacobians():
    module, means, covariances = mixture(SHORT["ve"], (1,))
    x = points(20, (1,), means, covariances)
    found = [ODELogLikelihood(probes=k).measure(Run(module, x))["ode_log_likelihood"] for k in (None, 1, 3)]
    assert found[1:] == pytest.approx([found[0]] * 2, abs=1e-9)


def test_the_generator_decides_the_signs():
    module, means, covariances = mixture(SHORT["ve"], (2,))
    x = points(5, (2,), means, covariances)
    one, same, other = (ODELogLikelihood(probes=1).measure(Run(module, x, seed=seed)) for seed in (0, 0, 1))
    assert one == same != other


def test_of_many_points_some_are_taken_evenly():
    module, means, covariances = mixture(SHORT["ve"], (2,))
    x = points(9, (2,), means, covariances)
    some = ODELogLikelihood(points=3).measure(Run(module, x))
    assert some == ODELogLikelihood(points=3).measure(Run(module, x[[0, 3, 6]]))
    assert some != ODELogLikelihood().measure(Run(module, x))


def test_a_network_with_labels_is_told_those_of_the_points(monkeypatch):
    """Point by point, in several blocks."""
    module = build(MLPScore(schedule=SHORT["vp"], hidden=(8,), classes=3), (2,))
    rng = generator(0)
    for parameter in module.parameters():
        parameter.data.normal_(0, 0.5, generator=rng)
    x, labels = torch.randn(6, 2, generator=rng), torch.tensor([0, 2, 1, 1, 2, 0])
    each = [log_prob(module, x[i : i + 1], labels=labels[i : i + 1]) for i in range(6)]
    monkeypatch.setattr("ebmkit.components.metrics.ode_log_likelihood.BLOCK", 8)
    found = ODELogLikelihood().measure(Run(module, x, labels=labels))["ode_log_likelihood"]
    assert found == pytest.approx(float(torch.cat(each).mean()), abs=1e-12)
    wrong = ODELogLikelihood().measure(Run(module, x, labels=labels.roll(1)))["ode_log_likelihood"]
    assert abs(found - wrong) > 1e-3


def test_what_noise_costs_is_of_the_fourth_power():
    """The gap of a perfect model is KL(p || p * N(0, sigma^2 I)), in the mean over draws; of N(0, I) sigma^4 / 4 a
    dimension. By weighted points here, which have the moments of N(0, I) exactly."""
    sigma, x = 0.3, torch.tensor([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    schedule = VE(sigma_max=1e4, sigma_min=sigma)
    module = NoisedMixtureModel(schedule=schedule, means=((0.0, 0.0),)).build((2,))
    data = SimpleNamespace(log_prob=lambda x: -x.square().sum(1) / 2 - math.log(2 * math.pi))
    metric = ODELogLikelihood(truth=True, tolerance=1e-7)
    found = metric.measure(Run(module, x, data=data))
    r = sigma**2
    assert found["ode_log_likelihood_gap"] == pytest.approx(math.log1p(r) - r / (1 + r), abs=1e-5)
    assert found["ode_log_likelihood_gap"] == pytest.approx(2 * sigma**4 / 4, rel=0.2)
    assert found["ode_log_likelihood_truth"] == pytest.approx(-1 - math.log(2 * math.pi), abs=1e-12)
    assert tuple(found) == metric.results()


def spec(**changes):
    noise = {"use": "vp"}
    return {
        "ebmkit": 1,
        "data": "two_moons",
        "model": {"use": "mlp_score", "schedule": noise},
        "sampler": {"use": "reverse_sde", "schedule": noise},
        "evaluate": ["ode_log_likelihood"],
        **changes,
    }


def test_what_it_cannot_follow_is_refused():
    load_spec(spec())
    levels = {"use": "geometric", "sigma_max": 5.0}
    by_levels = {
        "model": {"use": "mlp_score", "schedule": levels},
        "sampler": {"use": "annealed_langevin", "schedule": levels},
    }
    with pytest.raises(Mistakes, match="follows a process in time, but the model is conditioned on noise levels"):
        load_spec(spec(**by_levels))
    with pytest.raises(Mistakes, match="needs 'score', which model 'mlp' does not offer"):
        load_spec(spec(model="mlp", sampler="langevin"))
    with pytest.raises(Mistakes, match="known density"):
        load_spec(spec(data="swiss_roll", evaluate=[{"use": "ode_log_likelihood", "truth": True}]))


def test_without_data_there_is_no_likelihood():
    run = Run(None, torch.zeros(1, 1))
    run.data = lambda split: None
    with pytest.raises(ValueError, match="needs a spec with data"):
        ODELogLikelihood().measure(run)


@pytest.mark.parametrize("schedule", [VE(sigma_max=4.0, sigma_min=0.05), VP(horizon=0.5)])
def test_the_likelihood_begins_where_samples_begin(schedule):
    """A network that has learnt nothing is a noised Gaussian, and the flow stretches around its mean: the law that it
    makes of the prior is Gaussian, around the mean of the data, with a variance in proportion to that of the prior."""
    module = MLPScore(schedule=schedule, hidden=(4,)).build((2,)).double()
    data = 50 + torch.randn(500, 2, generator=generator(0), dtype=torch.float64)
    module.prepare(small_setting(module, data=data))
    with torch.no_grad():
        for parameter in module.network.last.parameters():
            parameter.zero_()
    times = torch.tensor([schedule.earliest, schedule.horizon], dtype=torch.float64)
    signal, noise = schedule.at(times)
    early, late = signal.square() * module.scale.square() + noise.square()
    variance = early * schedule.prior_std() ** 2 / late / signal[0] ** 2
    x = 50 + torch.randn(20, 2, generator=generator(1), dtype=torch.float64)
    exact = torch.distributions.Normal(module.center, variance.sqrt()).log_prob(x).sum(1).detach()
    with frozen(module):
        found = ODELogLikelihood(tolerance=1e-9).log_prob(module, x, None, None)
    assert torch.allclose(found, exact, atol=1e-6)
