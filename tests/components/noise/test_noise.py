"""Noise distributions: densities against torch.distributions, sums by hand and quadrature, draws against densities."""

import math
import sys

import pytest
import torch
from click.testing import CliRunner
from torch import nn
from torch.distributions import Categorical, Independent, MixtureSameFamily, MultivariateNormal, Normal, Uniform

from ebmkit.chains.context import StepContext
from ebmkit.cli import group
from ebmkit.components.inits.data import DataStart
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.inits.persistent import Persistent
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.conv_layers import ConvLayer
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.noise.conditional_gaussian import ConditionalGaussianNoise
from ebmkit.components.noise.flow import FlowNoise
from ebmkit.components.noise.gaussian import GaussianNoise
from ebmkit.components.noise.gaussian_mixture import GaussianMixtureNoise
from ebmkit.components.noise.generator import GeneratorNoise
from ebmkit.components.noise.nets import mixture_fit
from ebmkit.components.noise.nets.mixed_density import MixedDensity
from ebmkit.components.noise.parzen import ParzenNoise
from ebmkit.components.noise.snapshot import Snapshot
from ebmkit.components.noise.uniform import UniformNoise
from ebmkit.components.samplers.exact import Exact
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.engine.build import build
from ebmkit.language.load import load_spec
from ebmkit.maths import kernels
from ebmkit.testing.setting import small_setting
from tests.components.oracles import (
    EVENTS,
    assert_follows,
    assert_mean,
    generator,
    normal_cdf,
    quadrature_log_z,
    random_covariance,
    rows,
)

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
DRAWS = 20_000


def points(event, count=300, seed=0):
    """Skew and correlated, in coordinates of different spread."""
    d = math.prod(event)
    xi = torch.randn(count, d, generator=generator(seed))
    return ((xi + 0.3 * xi**2) @ random_covariance(d, 1) * torch.linspace(0.5, 2, d) + 3).view(-1, *event)


def built(noise, event, data, seed=0):
    """Some choose by chance, from torch's own generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return noise.build(event, data)


def close(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=1e-10)


def assert_draws_of_a_mixture(drawn, centres, covariances, weights):
    """Second moments, and along three directions, where a mixture of Gaussians is one of its shadows, the whole law by
    Kolmogorov-Smirnov, 1e-6 in all."""
    flat = drawn.flatten(1)
    moments = torch.einsum("k,ki,kj->ij", weights, centres, centres) + torch.einsum("k,kij->ij", weights, covariances)
    assert_mean((flat[:, :, None] * flat[:, None]).flatten(1), moments.flatten())
    pairs = []
    for seed in range(3):
        v = torch.randn(centres.shape[1], generator=generator(seed))
        mean, std = centres @ v, torch.einsum("i,kij,j->k", v, covariances, v).sqrt()
        pairs.append((flat @ v, lambda x, m=mean, s=std: normal_cdf((x[:, None] - m) / s) @ weights))
    assert_follows(pairs)


# --- gaussian --------------------------------------------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("inflate", [1.0, 1.2])
def test_fitted_noise_has_the_moments_of_the_data(event, inflate):
    d = math.prod(event)
    data = torch.randn(500, d, generator=generator(0)) @ random_covariance(d, 1) + 3
    density = GaussianNoise(inflate=inflate).build(event, data.view(-1, *event))
    centred = data - data.mean(0)
    law = MultivariateNormal(data.mean(0), inflate * centred.T @ centred / 499)
    x = torch.randn(20, *event, generator=generator(2))
    torch.testing.assert_close(density.log_prob(x), law.log_prob(x.flatten(1)))
    drawn = density.sample(20_000, generator(3))
    assert drawn.shape == (20_000, *event)
    white = torch.linalg.solve_triangular(law.scale_tril, (drawn.flatten(1) - law.mean).T, upper=False)
    assert_follows([(white[i], normal_cdf) for i in {0, d - 1}])
    assert not list(density.parameters())


def test_given_noise_ignores_the_data():
    covariance = random_covariance(2, 0)
    noise = GaussianNoise(mean=(1.0, 2.0), covariance=rows(covariance))
    density = noise.build((2,), torch.randn(10, 2))
    x = torch.randn(5, 2, generator=generator(1))
    law = MultivariateNormal(torch.tensor([1.0, 2.0]), covariance)
    torch.testing.assert_close(density.log_prob(x), law.log_prob(x))
    assert noise.event() == (2,)
    assert GaussianNoise().event() is None


# --- uniform ---------------------------------------------------------------------------------------------------------


@shapes
def test_a_fitted_box_reaches_beyond_the_data_by_its_margin(event):
    data = points(event)
    density = UniformNoise(margin=0.25).build(event, data)
    flat = data.flatten(1)
    low, high = flat.amin(0), flat.amax(0)
    low, high = low - 0.25 * (high - low), high + 0.25 * (flat.amax(0) - flat.amin(0))
    law = Independent(Uniform(low, high), 1)
    close(density.log_prob(data), law.log_prob(flat))
    drawn = density.sample(DRAWS, generator(1)).flatten(1)
    assert bool(((drawn >= low) & (drawn <= high)).all())
    assert_follows([(drawn[:, i], lambda x, i=i: (x - low[i]) / (high[i] - low[i])) for i in range(len(low))])
    for side in (low - 1e-6, high + 1e-6):  # one coordinate outside is outside
        x = flat[:1].clone()
        x[0, -1] = side[-1]
        assert float(density.log_prob(x.view(1, *event))) == -math.inf


def test_a_given_box_has_its_corners():
    data = torch.rand(10, 2, generator=generator(0))
    each = UniformNoise(low=(-1.0, -2.0), high=(2.0, 3.0))
    mixed = UniformNoise(low=-1.0, high=(2.0, 3.0))
    both = UniformNoise(low=-1.0, high=2.0)
    for noise, volume, event in ((each, 15.0, (2,)), (mixed, 12.0, (2,)), (both, 9.0, None)):
        close(noise.build((2,), data).log_prob(data), torch.full((10,), -math.log(volume)))
        assert noise.event() == event
    drawn = each.build((2,), data).sample(DRAWS, generator(1))
    assert_follows([(drawn[:, 0], lambda x: (x + 1) / 3), (drawn[:, 1], lambda x: (x + 2) / 5)])


# --- gaussian_mixture ------------------------------------------------------------------------------------------------


def given_mixture(event):
    d = math.prod(event)
    weights = torch.tensor([1.0, 3.0, 0.5])
    means = torch.randn(3, d, generator=generator(0))
    covariances = torch.stack([random_covariance(d, seed) for seed in range(3)])
    noise = GaussianMixtureNoise(
        means=rows(means), covariances=tuple(map(rows, covariances)), weights=tuple(weights.tolist())
    )
    return noise, weights / weights.sum(), means, covariances


@shapes
def test_a_given_mixture_is_that_of_torch(event):
    noise, weights, means, covariances = given_mixture(event)
    density = noise.build(event, points(event))
    law = MixtureSameFamily(Categorical(weights), MultivariateNormal(means, covariances))
    x = 3 * torch.randn(20, *event, generator=generator(1))
    close(density.log_prob(x), law.log_prob(x.flatten(1)))
    drawn = density.sample(DRAWS, generator(2))
    assert drawn.shape == (DRAWS, *event)
    assert_draws_of_a_mixture(drawn, means, covariances, weights)
    assert noise.event() == (math.prod(event),)


def test_one_covariance_and_no_weights_are_the_same_for_all():
    short = GaussianMixtureNoise(means=((0.0, 1.0), (2.0, 3.0)), covariances=(0.5,))
    long = GaussianMixtureNoise(
        means=((0.0, 1.0), (2.0, 3.0)), covariances=((0.5, 0.5), ((0.5, 0.0), (0.0, 0.5))), weights=(7.0, 7.0)
    )
    x = torch.randn(9, 2, generator=generator(0))
    close(*(noise.build((2,), x).log_prob(x) for noise in (short, long)))


@shapes
def test_clusters_that_lie_apart_are_fitted_by_their_own_moments(event):
    """Then nothing is shared: weights are counts, and means and covariances those of each cluster."""
    d, counts = math.prod(event), (100, 50, 150)
    clusters = [
        100.0 * k + torch.randn(n, d, generator=generator(k)) @ random_covariance(d, k) for k, n in enumerate(counts)
    ]
    data = torch.cat(clusters)
    floor = 1e-3 * data.var(0).mean() * torch.eye(d)
    density = GaussianMixtureNoise(components=3, steps=4, inflate=1.3).build(
        event, data[torch.randperm(300, generator=generator(9))].view(-1, *event)
    )
    order = density.means[:, 0].argsort()
    close(density.weights[order], torch.tensor(counts) / 300)
    close(density.means[order], torch.stack([cluster.mean(0) for cluster in clusters]))
    covariances = torch.stack([torch.cov(c.T, correction=0).reshape(d, d) + floor for c in clusters])
    torch.testing.assert_close((density.factors @ density.factors.mT)[order], 1.3 * covariances, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("event", [(1,), (2,), (1, 2, 2)], ids=str)
@pytest.mark.parametrize("steps", [1, 5])
def test_the_fit_is_expectation_maximisation(event, steps):
    """On clusters that overlap, with the two steps written once more by torch's own densities."""
    d, data = math.prod(event), points(event, 120).flatten(1)
    distance = (data - data.mean(0)).norm(dim=1)
    starts = [int(distance.argmin())]
    while len(starts) < 3:
        starts.append(int(torch.cdist(data, data[starts]).amin(1).argmax()))
    nearest = torch.cdist(data, data[starts]).argmin(1)
    shares = torch.stack([(nearest == k).double() for k in range(3)], 1)
    floor = 1e-3 * data.var(0).mean() * torch.eye(d)

    def maximise():
        weights = shares.mean(0)
        means = torch.stack([(shares[:, k : k + 1] * data).sum(0) / shares[:, k].sum() for k in range(3)])
        outer = torch.einsum("nki,nkj->nkij", data[:, None] - means, data[:, None] - means)
        return weights, means, torch.einsum("nk,nkij->kij", shares, outer) / shares.sum(0).view(3, 1, 1) + floor

    for _ in range(steps):
        weights, means, covariances = maximise()
        joint = MultivariateNormal(means, covariances).log_prob(data[:, None]) + weights.log()
        shares = joint.softmax(1)
    weights, means, covariances = maximise()
    density = GaussianMixtureNoise(components=3, steps=steps, inflate=1.0).build(event, data.view(-1, *event))
    law = MixtureSameFamily(Categorical(weights), MultivariateNormal(means, covariances))
    x = data[:20] + 0.1
    torch.testing.assert_close(density.log_prob(x.view(-1, *event)), law.log_prob(x), rtol=1e-9, atol=1e-9)


def test_more_steps_fit_better():
    data = points((2,), 400)
    likelihood = [
        float(GaussianMixtureNoise(components=4, steps=steps, inflate=1.0).build((2,), data).log_prob(data).mean())
        for steps in (1, 5, 30)
    ]
    assert likelihood[0] < likelihood[1] < likelihood[2]


def test_a_component_on_few_points_is_no_spike():
    data = torch.cat([torch.randn(100, 2, generator=generator(0)), torch.tensor([[50.0, 50.0], [50.0, 50.0 + 1e-9]])])
    weights, _, covariances = mixture_fit.fit_mixture(data, 2, 30)
    lone = int(weights.argmin())
    assert float(weights[lone]) == pytest.approx(2 / 102)
    close(covariances[lone], 1e-3 * data.var(0).mean() * torch.eye(2))


# --- parzen ----------------------------------------------------------------------------------------------------------


@shapes
@pytest.mark.parametrize("bandwidth", [None, 0.4])
def test_parzen_is_a_mixture_on_the_data(event, bandwidth):
    data = points(event, 60)
    d, flat = math.prod(event), data.flatten(1)
    density = built(ParzenNoise(bandwidth=bandwidth), event, data)
    h = torch.full((d,), bandwidth) if bandwidth else 60 ** (-1 / (d + 4)) * flat.std(0)
    law = MixtureSameFamily(Categorical(torch.ones(60)), Independent(Normal(flat, h), 1))
    x = points(event, 20, seed=1)
    close(density.log_prob(x), law.log_prob(x.flatten(1)))
    drawn = density.sample(DRAWS, generator(2))
    assert drawn.shape == (DRAWS, *event)
    assert_draws_of_a_mixture(drawn, flat, h.square().diag().expand(60, d, d), torch.full((60,), 1 / 60))


def test_parzen_takes_some_points_and_the_rule_counts_those():
    data = points((2,), 200)
    density = built(ParzenNoise(points=50), (2,), data)
    assert density.points.shape == (50, 2)
    nearest = (density.points[:, None] - data).abs().sum(2).min(1)
    assert float(nearest.values.max()) == 0
    assert len(nearest.indices.unique()) == 50  # none twice
    assert int(nearest.indices.max()) > 50  # not the first ones
    close(density.bandwidth, 50 ** (-1 / 6) * data.std(0))


def test_kernels_in_blocks_are_kernels(monkeypatch):
    x, centres = torch.randn(37, 3, generator=generator(0)), torch.randn(11, 3, generator=generator(1))
    whole = kernels.log_kernel_mean(x, centres)
    monkeypatch.setattr(kernels, "PAIRS", 50)
    assert torch.equal(kernels.log_kernel_mean(x, centres), whole)
    monkeypatch.setattr(kernels, "PAIRS", 1)
    assert torch.equal(kernels.log_kernel_mean(x, centres), whole)


# --- conditional_gaussian --------------------------------------------------------------------------------------------


@shapes
def test_conditional_noise_is_a_gaussian_around_each_point(event):
    given, y = points(event, 50), points(event, 50, seed=1)
    density = ConditionalGaussianNoise(sigma=0.7).build(event, given)
    close(density.log_prob(y, given), Normal(given, 0.7).log_prob(y).flatten(1).sum(1))
    many = given[:1].repeat(DRAWS, *[1] * len(event))
    white = ((density.sample(many, generator(2)) - many) / 0.7).flatten(1)
    assert_follows([(white[:, i], normal_cdf) for i in {0, math.prod(event) - 1}])
    assert not list(density.parameters())


@shapes
def test_conditional_noise_of_several_widths_is_their_mixture(event):
    given, y = points(event, 50), points(event, 50, seed=1)
    widths = (0.2, 0.7, 3.0)
    density = ConditionalGaussianNoise(sigma=widths).build(event, given)
    parts = torch.stack([Normal(given, width).log_prob(y).flatten(1).sum(1) for width in widths])
    close(density.log_prob(y, given), parts.exp().mean(0).log())
    many = given[:1].repeat(DRAWS, *[1] * len(event))
    moved = (density.sample(many, generator(2)) - many).flatten(1)
    mixed = lambda u: sum(normal_cdf(u / width) for width in widths) / len(widths)  # noqa: E731
    assert_follows([(moved[:, i], mixed) for i in {0, math.prod(event) - 1}])


@shapes
def test_conditional_noise_is_as_wide_as_a_part_of_the_data(event):
    data = points(event)
    spread = math.sqrt(float(data.flatten(1).var(0).mean()))
    for relative in (0.3, (0.1, 4.0)):
        density = ConditionalGaussianNoise(relative=relative).build(event, data)
        wanted = relative if isinstance(relative, tuple) else (relative,)
        assert density.sigma.tolist() == pytest.approx([part * spread for part in wanted], rel=1e-12)


# --- flow ------------------------------------------------------------------------------------------------------------


def flow(event, data, steps=30):
    noise = FlowNoise(transforms=2, bins=4, hidden=(8,), steps=steps)
    return built(noise, event, data)


@shapes
def test_a_flow_has_the_density_of_its_draws(event):
    """log N(z) - log |det dx/dz|, with the Jacobian of the draws by autograd."""
    density, d = flow(event, points(event)), math.prod(event)
    x = density.sample(5, generator(1))
    assert x.shape == (5, *event)
    z = torch.empty(5, d).normal_(generator=generator(1))

    def draw(latent):
        return (density.centre + density.scale * density.to_base().inv(latent[None]))[0]

    by_hand = []
    for row, drawn in zip(z, x, strict=True):
        torch.testing.assert_close(draw(row), drawn.flatten(), rtol=0, atol=1e-9)
        jacobian = torch.autograd.functional.jacobian(draw, row)
        by_hand.append(Normal(0.0, 1.0).log_prob(row).sum() - torch.linalg.slogdet(jacobian).logabsdet)
    torch.testing.assert_close(density.log_prob(x), torch.stack(by_hand), rtol=0, atol=1e-8)


def test_draws_of_a_flow_follow_its_density():
    """Its distribution function on a line, by quadrature."""
    density = flow((1,), points((1,)))
    x = torch.linspace(-20, 40, 20_001)
    with torch.no_grad():
        p = density.log_prob(x[:, None]).exp()
        cdf = torch.cumulative_trapezoid(p, x)
        drawn = density.sample(DRAWS, generator(1))[:, 0]
    assert float(cdf[-1]) == pytest.approx(1, abs=1e-5)

    def at(values):
        right = torch.searchsorted(x, values)
        part = (values - x[right - 1]) / (x[right] - x[right - 1])
        left = torch.cat([torch.zeros(1), cdf])
        return torch.lerp(left[right - 1], left[right], part)

    assert_follows([(drawn, at)])


def test_a_fitted_flow_knows_more_than_a_gaussian():
    """Two clusters: it sees the gap between them."""
    side = torch.randint(2, (2000, 1), generator=generator(0)) * 2.0 - 1
    data = side * torch.tensor([4.0, 0.0]) + torch.randn(2000, 2, generator=generator(1))
    moments = Independent(Normal(data.mean(0), data.std(0)), 1).log_prob(data).mean()
    fitted = flow((2,), data, 150).log_prob(data).mean().detach()
    assert float(fitted - moments) > 0.4  # the clusters themselves know 1/2 log 17 - log 2 = 0.72 more


@pytest.mark.parametrize("event", [(1,), (2,), (1, 2, 2)], ids=str)
def test_a_flow_without_steps_is_near_to_the_gaussian_with_the_moments_of_the_data(event):
    """KL(Gaussian || flow), as a mean over draws. On a line, splines have no network: zuko begins them otherwise."""
    data = points(event)
    law = Independent(Normal(data.flatten(1).mean(0), data.flatten(1).std(0)), 1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        x = law.sample((2000,))
    for seed in range(3):
        density = built(FlowNoise(steps=0), event, data, seed)
        with torch.no_grad():
            kl = (law.log_prob(x) - density.log_prob(x.view(-1, *event))).mean()
        assert abs(float(kl)) < 0.1 * math.prod(event)


def test_the_fit_of_a_flow_leaves_no_gradient_behind():
    assert all(parameter.grad is None for parameter in flow((2,), points((2,)), steps=2).parameters())


SPEC = """\
ebmkit: 1
data: {use: two_moons, size: 50, test_size: 50}
model: {use: mlp, hidden: [4]}
objective:
  use: nce
  noise:
    use: flow
train: {steps: 1}
"""


def test_without_zuko_the_extra_is_named_at_the_line_of_the_noise(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zuko", None)  # as if it were not installed
    spec, runs = tmp_path / "flow.yaml", tmp_path / "runs"
    spec.write_text(SPEC)
    told = CliRunner().invoke(group, ["run", str(spec), "--runs-dir", str(runs)], prog_name="ebmkit")
    assert told.exit_code == 3
    assert "error[E305]: noise 'flow' needs the package 'zuko', which is not installed" in told.stderr
    assert "flow.yaml:7:10" in told.stderr
    assert "pip install 'ebmkit-core[flows]'" in told.stderr
    assert "Traceback" not in told.stderr
    assert not runs.exists()
    checked = CliRunner().invoke(group, ["validate", str(spec)], prog_name="ebmkit")
    assert checked.exit_code == 3, checked.output


# --- generator -------------------------------------------------------------------------------------------------------


def generator_noise(event, data, **parameters):
    return built(GeneratorNoise(**{"latents": 20, "latent": 3, "hidden": (8,), **parameters}), event, data)


def spelled_out(density):
    """The mixture that it is for its latents, by torch's distributions, in the units of the data."""
    centres = density.centre + density.scale * density.mu(density.latents)
    sigma = density.scale * density.log_sigma.exp()
    return MixtureSameFamily(Categorical(torch.ones(len(centres))), Independent(Normal(centres, sigma), 1))


@shapes
def test_a_generator_is_a_mixture_on_its_latents(event):
    data = points(event)
    density = generator_noise(event, data, sigma=0.3)
    flat, d = data.flatten(1), math.prod(event)
    close(density.centre, flat.mean(0))
    close(density.scale, flat.std(0))
    close(density.log_sigma.detach().exp(), torch.full((d,), 0.3))
    with torch.no_grad():
        density.log_sigma.add_(0.2 * torch.randn(d, generator=generator(1)))
    law = spelled_out(density)
    close(density.log_prob(data[:20]), law.log_prob(flat[:20]))
    drawn = density.sample(DRAWS, generator(2)).detach()
    assert drawn.shape == (DRAWS, *event)
    centres, sigma = law.component_distribution.mean.detach(), law.component_distribution.stddev.detach()[0]
    covariances = sigma.square().diag().expand(20, d, d)
    assert_draws_of_a_mixture(drawn, centres, covariances, torch.full((20,), 1 / 20))


@pytest.mark.parametrize("event", [(2,), (1, 2, 2)], ids=str)
def test_each_step_has_latents_of_its_own_and_its_density_is_that_of_its_draws(event):
    data = points(event)
    density = generator_noise(event, data, latents=4, sigma=1e-3)
    before = density.latents.clone()
    x = density.draw(nn.Identity(), data, 50, StepContext(generator(1), None, 1))
    assert float((density.latents - before).abs().min()) > 0
    flat = (x.flatten(1) - density.centre) / density.scale
    nearest = torch.cdist(flat, density.mu(density.latents)).amin(1).detach()  # the latents drawn, not those before
    assert float(nearest.max()) < 1e-3 * 6 * math.sqrt(math.prod(event))
    close(density.log_prob(x), spelled_out(density).log_prob(x.flatten(1)))


def test_over_latents_a_generator_is_the_integral():
    """The mean of the density over steps is `int N(x; mu(z), sigma^2) N(z; 0, 1) dz`, here by quadrature over z."""
    data = points((2,))
    density = generator_noise((2,), data, latent=1, latents=5)
    with torch.no_grad():
        density.mu[0].weight.mul_(4)  # so that the latents matter
        z = torch.linspace(-9, 9, 3001)[:, None]
        weights = torch.softmax(-z[:, 0].square() / 2, 0)
        centres, sigma = density.centre + density.scale * density.mu(z), density.scale * density.log_sigma.exp()
        x = data[:8]
        exact = (Normal(centres, sigma).log_prob(x[:, None]).sum(2).exp() * weights).sum(1)
        rng, seen = generator(1), []
        for step in range(1000):
            density.draw(nn.Identity(), data, 1, StepContext(rng, None, step))
            seen.append(density.log_prob(x).exp())
    assert_mean(torch.stack(seen), exact)
    assert float(torch.stack(seen).std(0).div(exact).min()) > 0.05  # they do


# --- snapshot --------------------------------------------------------------------------------------------------------


def snapshot(model, event, **parameters):
    density = Snapshot(**parameters).build(event, torch.zeros(3, *event))
    density.prepare(small_setting(model, event))
    return density


def gaussian(event):
    d = math.prod(event)
    return Gaussian(mean=(0.5,) * d, covariance=rows(random_covariance(d, 0)), shape=event).build(event)


@shapes
def test_a_snapshot_is_the_model_as_it_was(event):
    torch.manual_seed(0)
    model, x = MLP(hidden=(5,)).build(event), points(event, 9)
    density = snapshot(model, event)
    before = -model(x).detach()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3)
    assert torch.equal(density.log_prob(x), before)
    assert float((model(x).detach() + before).abs().min()) > 1e-3
    assert not any(parameter.requires_grad for parameter in density.parameters())
    assert not density.model.training


@shapes
def test_a_snapshot_is_sampled_by_its_chains(event):
    model = gaussian(event)
    density = snapshot(model, event, sampler=Exact(), init=NoiseStart())
    drawn = density.sample(DRAWS, generator(1))
    assert drawn.shape == (DRAWS, *event)
    white = ((drawn.flatten(1) - model.mean) @ model.whitening.T).detach()
    assert_follows([(white[:, i], normal_cdf) for i in {0, math.prod(event) - 1}])


@pytest.mark.parametrize("interval", [1, 3])
def test_a_snapshot_is_renewed_every_so_many_steps(interval):
    """In steps 1, K + 1, 2 K + 1, ...: the chains of a step run on what its ratio is to."""
    model, batch = gaussian((2,)), torch.zeros(200, 2)
    with torch.no_grad():
        model.mean.fill_(-100)
    density = snapshot(model, (2,), interval=interval, sampler=Exact(), init=DataStart())
    for step in range(1, 8):
        with torch.no_grad():
            model.mean.fill_(10.0 * step)
        x = density.draw(model, batch, 200, StepContext(generator(step), None, step))
        density.follow(model, step)
        at = 10.0 * (step - (step - 1) % interval)
        assert float(density.model.mean[0]) == at
        assert_mean(x, at)


def test_a_snapshot_keeps_its_chains_and_has_as_many_as_are_asked_for():
    model, batch = gaussian((2,)), torch.randn(4, 2, generator=generator(0))
    density = snapshot(model, (2,), sampler=Langevin(steps=1, step_size=1e-9), init=DataStart())
    x = density.draw(model, batch, 6, StepContext(generator(1), None, 1))
    torch.testing.assert_close(x, batch[[0, 1, 2, 3, 0, 1]], rtol=0, atol=1e-3)
    density = snapshot(model, (2,), sampler=Langevin(steps=1, step_size=1e-9), init=Persistent(chains=6))
    first, second = (density.draw(model, batch, 6, StepContext(generator(step), None, step)) for step in (1, 2))
    torch.testing.assert_close(first, second, rtol=0, atol=1e-3)


def test_corners_of_a_run_in_float64_are_not_rounded():
    """0.1 is more than a tenth in float32, and a point at a tenth would lie outside."""
    data = torch.tensor([[0.1], [0.4], [0.7]], dtype=torch.float64)
    spec = {
        "ebmkit": 1,
        "dtype": "float64",
        "data": "two_moons",
        "model": {"use": "mlp", "hidden": [4]},
        "objective": {"use": "nce", "noise": {"use": "uniform", "low": -3.1, "high": 3.1}},
        "train": {"steps": 1},
    }
    assert build(load_spec(spec)).extras.noise.low.tolist() == [-3.1, -3.1]
    assert bool(UniformNoise(low=0.1, high=0.7).build((1,), data).log_prob(data).isfinite().all())


# --- two in one ------------------------------------------------------------------------------------------------------


@shapes
def test_a_mixed_density_is_its_share_of_both(event):
    d = math.prod(event)
    base, other = (GaussianNoise(mean=(3.0 * k,) * d, covariance=1.0 + k).build(event, points(event)) for k in (0, 1))
    mixed = MixedDensity(base, other, 0.3)
    law = MixtureSameFamily(
        Categorical(torch.tensor([0.3, 0.7])),
        MultivariateNormal(torch.tensor([[0.0] * d, [3.0] * d]), torch.stack([torch.eye(d), 2 * torch.eye(d)])),
    )
    x = points(event, 20)
    close(mixed.log_prob(x), law.log_prob(x.flatten(1)))
    for drawn in (
        mixed.sample(DRAWS, generator(1)),
        mixed.draw(nn.Identity(), x, DRAWS, StepContext(generator(1), None, 1)),
    ):
        parts = law.component_distribution
        assert_draws_of_a_mixture(drawn, parts.mean, parts.covariance_matrix, torch.tensor([0.3, 0.7]))


# --- all -------------------------------------------------------------------------------------------------------------

EVERY = [
    GaussianNoise(),
    UniformNoise(),
    GaussianMixtureNoise(components=3),
    ParzenNoise(points=30),
    FlowNoise(transforms=1, bins=4, hidden=(8,), steps=20),
    GeneratorNoise(latents=20, latent=3, hidden=(8,)),
]


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("noise", EVERY, ids=lambda noise: noise.component_name)
def test_densities_integrate_to_one(noise, d):
    density = built(noise, (d,), points((d,)) - 3)
    smooth = noise.component_name not in ("uniform", "flow")
    log_z = quadrature_log_z(lambda x: -density.log_prob(x), d, reach=20.0, points=20_000 if d == 1 else 400)
    assert log_z == pytest.approx(0, abs=1e-9 if smooth else 0.02)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "parameters", "said"),
    [
        (GaussianNoise, {"mean": (0.0,)}, "together"),
        (GaussianNoise, {"mean": (0.0,), "covariance": 1.0, "inflate": 2.0}, "'inflate' scales a fitted covariance"),
        (GaussianNoise, {"mean": (0.0, 0.0), "covariance": ((1.0, 2.0), (2.0, 1.0))}, "positive definite"),
        (UniformNoise, {"low": 0.0}, "together"),
        (UniformNoise, {"low": 0.0, "high": 1.0, "margin": 0.2}, "'margin' is for a fitted box"),
        (UniformNoise, {"low": (0.0, 2.0), "high": 1.0}, "'low' is 2.0 and 'high' is 1.0 in coordinate 1"),
        (UniformNoise, {"low": (0.0, 0.0), "high": (1.0, 1.0, 1.0)}, "'low' has 2 coordinates, but 'high' has 3"),
        (UniformNoise, {"low": (0.0,), "high": (1.0, 1.0, 1.0)}, "'low' has 1 coordinates, but 'high' has 3"),
        (GaussianMixtureNoise, {"means": ((0.0,),)}, "together"),
        (GaussianMixtureNoise, {"weights": (1.0,)}, "there are none"),
        (GaussianMixtureNoise, {"means": ((0.0,),), "covariances": (1.0,), "steps": 3}, "but 'means' are given"),
        (GaussianMixtureNoise, {"means": ((0.0,),), "covariances": (1.0,), "inflate": 3.0}, "but 'means' are given"),
        (GaussianMixtureNoise, {"means": ((0.0,), (1.0, 2.0)), "covariances": (1.0,)}, r"means\[1\] has 2"),
        (GaussianMixtureNoise, {"means": ((0.0,),), "covariances": (1.0, 1.0)}, "2 covariances for 1 means"),
        (GaussianMixtureNoise, {"means": ((0.0,),), "covariances": (-1.0,)}, r"covariances\[0\]"),
        (GaussianMixtureNoise, {"means": ((0.0,),), "covariances": (1.0,), "weights": (1.0, 2.0)}, "2 weights for 1"),
        (ConditionalGaussianNoise, {"sigma": 1.0, "relative": 0.3}, "give one of them"),
    ],
)
def test_parameters_that_cannot_work_are_refused(make, parameters, said):
    with pytest.raises(ValueError, match=said):
        make(**parameters)


FLAT = torch.tensor([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]], dtype=torch.float64)


@pytest.mark.parametrize(
    ("noise", "data", "said"),
    [
        (GaussianNoise(), FLAT, "do not span"),
        (UniformNoise(), FLAT, "so the box is empty"),
        (UniformNoise(low=0.0, high=1.5), FLAT, "they range from 0 to 2"),
        (GaussianMixtureNoise(components=3), FLAT, "3 distinct points are too few for 3 components"),
        (ParzenNoise(), FLAT, "so Scott.s rule fails"),
        (FlowNoise(), FLAT, "no flow can be fitted"),
        (GeneratorNoise(), FLAT, "so some have no scale"),
        (ConditionalGaussianNoise(), torch.ones(5, 2), "cannot set the width"),
    ],
    ids=lambda value: getattr(value, "component_name", ""),
)
def test_data_that_cannot_be_fitted_are_refused(noise, data, said):
    with pytest.raises(ValueError, match=said):
        noise.build((2,), data)


def test_noise_of_another_shape_is_refused_where_it_stands(tmp_path):
    spec = tmp_path / "shape.yaml"
    spec.write_text(SPEC.replace("use: flow", "{use: uniform, low: [-9, -9, -9], high: 9}"))
    told = CliRunner().invoke(group, ["validate", str(spec)], prog_name="ebmkit")
    assert told.exit_code == 2
    assert "noise 'uniform' has states of shape (3,), but the model has shape (2,)" in told.stderr
    assert "shape.yaml:7" in told.stderr


def test_a_copy_takes_the_spectral_vectors_along():
    """They are no parameters: without them the copy would have other weights than the model had."""
    torch.manual_seed(0)
    event = (1, 4, 4)
    module = Conv(layers=(ConvLayer(channels=2),), activation="silu", spectral_norm=True).build(event).train()
    density = Snapshot(interval=1, sampler=Langevin(steps=1), init=DataStart()).build(event, torch.zeros(3, *event))
    density.prepare(small_setting(module, event))
    x = torch.randn(5, *event, generator=generator(0))
    for step in range(1, 4):
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator(step)), alpha=0.3)
            module(x)  # in training mode a pass moves the vectors
        density.follow(module, step)
        module.eval()
        torch.testing.assert_close(density.log_prob(x), -module(x).detach(), rtol=0, atol=1e-14)
        module.train()
