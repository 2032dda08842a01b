"""Data whose density is known, and the metrics that compare with a truth."""

import math

import pytest
import torch

from ebmkit.components.data.checkerboard import Checkerboard
from ebmkit.components.data.eight_gaussians import EightGaussians
from ebmkit.components.data.from_model import FromModel
from ebmkit.components.data.line import Line
from ebmkit.components.data.rings import Rings
from ebmkit.components.data.spirals import Spirals
from ebmkit.components.data.two_moons import TwoMoons
from ebmkit.components.metrics.heat_flow import HeatFlow
from ebmkit.components.metrics.kl_divergence import KLDivergence
from ebmkit.components.metrics.score_error import ScoreError
from ebmkit.components.models.banana import Banana
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mixture_1d import Mixture1D
from ebmkit.components.models.mlp import MLP
from ebmkit.contracts.kinds import Data
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.testing.oracles import features, require_means
from tests.components.oracles import assert_mean, generator
from tests.views import FakeView, viewed_spec

KNOWN = [
    EightGaussians(noise=0.3),
    EightGaussians(modes=5, radius=1.0, noise=0.5),
    TwoMoons(noise=0.2),
    TwoMoons(noise=0.5, radius=1.5),
    Rings(noise=0.2),
    Rings(noise=0.4, rings=2, radius=1.5),
    Checkerboard(),
    Checkerboard(fields=2, width=3.0),
    Line(noise=0.3),
    Line(noise=0.5, scale=1.0, angle=20.0),
    FromModel(model=GaussianMixture(means=((-1.0, 0.5), (1.0, 1.0)), covariances=((0.3, 0.6),), weights=(1.0, 3.0))),
    FromModel(model=Banana(scale=1.0, curvature=0.3)),
]
known = pytest.mark.parametrize("data", KNOWN, ids=lambda data: f"{data.component_name}-{KNOWN.index(data)}")


def grid(reach, side):
    """Midpoints of the cells of a square, so that no point lies on an edge of a checkerboard, and their area."""
    axis = ((torch.arange(side) + 0.5) / side - 0.5) * 2 * reach
    return torch.cartesian_prod(axis, axis), (2 * reach / side) ** 2


@known
def test_the_density_integrates_to_one_and_is_that_of_the_draws(data):
    """Of twelve waves the means over draws are those by quadrature, at a false-alarm rate of 1e-6."""
    assert data.traits().known
    x, area = grid(12.0 if data.component_name in ("from_model", "line") else 6.0, 240)
    p = data.log_prob(x).exp() * area
    assert p.dtype == torch.float64
    assert float(p.sum()) == pytest.approx(1, abs=1e-6)
    draws = torch.cat([data.load(split, generator(k)).x for k, split in enumerate(("train", "test"))])
    require_means(features(draws), p @ features(x), f"the mean of a wave over '{data.component_name}'")


@pytest.mark.parametrize("noise", [0.03, 0.1, 0.5])
def test_the_moons_are_the_mean_of_gaussians_along_two_arcs(noise):
    """By brute force: Simpson's rule on forty thousand points of each arc; near them and far away."""
    n = 40_001
    t = torch.linspace(0, math.pi, n)
    simpson = torch.ones(n)
    simpson[1:-1:2], simpson[2:-1:2] = 4, 2
    outer = torch.stack([t.cos() - 0.5, t.sin() - 0.25], 1)
    moons = TwoMoons(noise=noise)
    x = torch.cat([moons.load("test", generator(0)).x[:10], 2 * torch.randn(10, 2, generator=generator(1))])
    log_p = [
        (simpson.log() - (row - arc).square().sum(1) / (2 * noise**2)).logsumexp(0)
        for row in x
        for arc in (outer, -outer)
    ]
    brute = torch.stack(log_p).view(-1, 2).logsumexp(1) - math.log(2 * simpson.sum() * 2 * math.pi * noise**2)
    torch.testing.assert_close(moons.log_prob(x), brute, rtol=1e-8, atol=1e-6)  # far away there are thousands of nats
    near = brute > brute.max() - 20
    torch.testing.assert_close(moons.log_prob(x)[near], brute[near], rtol=0, atol=1e-10)


def test_far_from_rings_the_density_does_not_overflow():
    x = torch.tensor([[0.0, 0.0], [30.0, -40.0]])
    log_p = Rings(noise=0.05, rings=1, radius=2.0).log_prob(x)
    bound = -(torch.tensor([2.0, 48.0]).square()) / (2 * 0.05**2) - math.log(2 * math.pi * 0.05**2)
    assert bool((log_p <= bound + 1e-9).all())
    assert float(log_p[0]) == pytest.approx(float(bound[0]), abs=1e-9)  # in the middle all points of it are as far


def test_light_fields_and_the_world_around_the_board_have_no_density():
    board = Checkerboard(fields=2, width=2.0)
    x = torch.tensor([[-0.5, -0.5], [0.5, 0.5], [-0.5, 0.5], [0.5, -0.5], [1.5, 0.5], [0.5, -1.5], [2.5, 2.5]])
    log_p = board.log_prob(x)
    torch.testing.assert_close(log_p[:2], torch.full((2,), math.log(0.5)))
    assert bool((log_p[2:] == -math.inf).all())


def test_without_noise_there_is_no_density():
    assert not TwoMoons(noise=0.0).traits().known
    assert not Rings(noise=0.0).traits().known
    assert not Line().traits().known
    assert not Spirals().traits().known or type(Spirals()).log_prob is not Data.log_prob


def test_a_line_without_noise_is_a_line():
    x = Line(angle=30.0).load("train", generator(0)).x
    across = x @ torch.tensor([-math.sin(math.pi / 6), math.cos(math.pi / 6)])
    assert float(across.abs().max()) < 1e-12
    along = x @ torch.tensor([math.cos(math.pi / 6), math.sin(math.pi / 6)])
    assert_mean(along.square()[:, None], 2.0)


# --- metrics ---------------------------------------------------------------------------------------------------------


class Run(FakeView):
    """As much of a run as these metrics read."""

    def __init__(self, data, model, module=None):
        event = data.event()
        train, test = (data.load(split, generator(k)).x for k, split in enumerate(("train", "test")))
        known = {"event": event, "module": module or model.build(event), "dtype": torch.float64, "can_sample": False}
        super().__init__(None, test, train, spec=viewed_spec(data=data, model=model), **known)

    def score(self, x):
        x = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(self.module(x).sum(), x)
        return -slope


def normal(mean, variance, d=1):
    return Gaussian(mean=(mean,) * d, covariance=variance)


@pytest.mark.parametrize("d", [1, 2])
def test_kl_of_gaussians_is_the_closed_form_both_ways(d):
    """KL(N(m, s) || N(m', s')) = d/2 (s/s' + (m - m')^2 / s' - 1 + log s'/s)."""

    def closed(m, s, n, r):
        return d / 2 * (s / r + (m - n) ** 2 / r - 1 + math.log(r / s))

    data = FromModel(model=normal(0.5, 0.8, d), size=1000, test_size=1000)
    found = KLDivergence(reverse=True).measure(Run(data, normal(0.0, 1.5, d)))
    assert tuple(found) == KLDivergence(reverse=True).results()
    assert found["kl_divergence"] == pytest.approx(closed(0.5, 0.8, 0.0, 1.5), abs=1e-6)
    assert found["kl_reverse"] == pytest.approx(closed(0.0, 1.5, 0.5, 0.8), abs=1e-6)
    assert found["kl_error"] < 1e-3


@pytest.mark.parametrize(
    ("data", "model"),
    [
        (EightGaussians(noise=0.3, size=1000, test_size=1000), None),
        (FromModel(model=Mixture1D(), size=1000, test_size=1000), Mixture1D()),
        (FromModel(model=Banana(), size=1000, test_size=1000), Banana()),
    ],
    ids=lambda part: getattr(part, "component_name", "as_mixture"),
)
def test_kl_of_the_truth_is_zero(data, model):
    if model is None:
        t = 2 * math.pi / 8 * torch.arange(8)
        means = tuple(map(tuple, (2 * torch.stack([t.cos(), t.sin()], 1)).tolist()))
        model = GaussianMixture(means=means, covariances=(0.09,))
    found = KLDivergence(reverse=True).measure(Run(data, model))
    assert found["kl_divergence"] == pytest.approx(0, abs=1e-6)
    assert found["kl_reverse"] == pytest.approx(0, abs=1e-6)


def test_kl_of_an_unnormalised_energy_integrates_it():
    torch.manual_seed(0)
    data, model = FromModel(model=normal(0.0, 1.0), size=500, test_size=500), MLP(hidden=(8,), base_scale=1.0)
    module = model.build((1,))
    x = torch.linspace(-15, 15, 30_001)
    log_q = -module(x[:, None]).detach()
    log_q = log_q - log_q.logsumexp(0) - math.log(30 / 30_000)
    log_p = -x.square() / 2 - math.log(2 * math.pi) / 2
    exact = float((log_p.exp() * (log_p - log_q)).sum() * 30 / 30_000)
    assert KLDivergence().measure(Run(data, model, module))["kl_divergence"] == pytest.approx(exact, abs=1e-6)


def test_kl_to_a_board_with_sharp_edges():
    """A wide Gaussian: log p is constant on the board, and E_p|x|^2 that of the square."""
    data = Checkerboard(size=1000, test_size=1000)
    found = KLDivergence(tolerance=0.01).measure(Run(data, normal(0.0, 4.0, 2)))
    exact = math.log(2 / 16) + math.log(2 * math.pi * 4) + 2 * (4**2 / 12) / 8
    assert found["kl_divergence"] == pytest.approx(exact, abs=0.02)


def test_kl_needs_data_whose_density_is_known():
    spec = {
        "ebmkit": 1,
        "data": "swiss_roll",
        "model": "mlp",
        "sampler": "langevin",
        "evaluate": ["kl_divergence"],
    }
    with pytest.raises(Mistakes, match="known density"):
        load_spec(spec)
    with pytest.raises(Mistakes, match="one or two coordinates"):
        load_spec({**spec, "data": {"use": "from_model", "model": {"use": "gaussian", "mean": [0, 0, 0]}}})


@pytest.mark.parametrize("d", [1, 2, 10])
def test_score_error_of_a_wider_gaussian_is_the_closed_form(d):
    """s = -x / r and s* = -x: the error is (1 - 1/r)^2, where data are and where they are rare."""
    data = FromModel(model=normal(0.0, 1.0, d), size=100, test_size=2000)
    found = ScoreError(target=normal(0.0, 1.0, d), quantile=0.3).measure(Run(data, normal(0.0, 4.0, d)))
    assert found["score_error"] == pytest.approx(0.75**2, abs=1e-10)
    assert found["score_error_rare"] == pytest.approx(0.75**2, abs=1e-10)


def test_score_error_tells_where_data_are_from_where_they_are_rare():
    """One Gaussian for a far mixture's heavier mode: right around it, wrong beyond."""
    truth = GaussianMixture(means=((-5.0, -5.0), (5.0, 5.0)), weights=(1.0, 1e6))
    data = FromModel(model=truth, size=100, test_size=3000)
    found = ScoreError(target=truth).measure(Run(data, normal(5.0, 1.0, 2)))
    assert found["score_error"] < 1e-6
    assert found["score_error_rare"] < 1e-6  # the box is that of the data
    both = GaussianMixture(means=((-5.0, -5.0), (5.0, 5.0)), weights=(1.0, 4.0))
    run = Run(FromModel(model=both, size=100, test_size=3000), normal(5.0, 1.0, 2))
    wrong = ScoreError(target=both).measure(run)
    assert wrong["score_error"] > 10
    assert ScoreError(target=both).measure(Run(run.spec.data, both))["score_error_rare"] < 1e-20


@pytest.mark.parametrize("metric", [ScoreError, HeatFlow])
def test_a_target_without_what_is_needed_is_refused(metric):
    with pytest.raises(ValueError, match=r"takes its shape from data|does not offer"):
        metric(target=MLP())


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("time", [0.1, 1.0])
def test_heat_flow_of_gaussians_is_the_closed_form(d, time):
    """Shifted by c at one variance: KL = d c^2 / (2 (s + t)), its slope -d c^2 / (2 (s + t)^2)."""
    found = HeatFlow(target=normal(0.7, 1.5, d), time=time).measure(
        Run(FromModel(model=normal(0.0, 1.0, d), size=10, test_size=10), normal(0.0, 1.5, d))
    )
    exact = d * 0.7**2 / (2 * (1.5 + time) ** 2)
    assert found["half_fisher"] == pytest.approx(exact, rel=1e-8)
    assert found["kl_slope"] == pytest.approx(-exact, rel=1e-5)


def test_heat_flow_of_mixtures():
    model = GaussianMixture(means=((-1.0, 0.0), (1.0, 0.5)), weights=(1.0, 2.0))
    target = GaussianMixture(means=((-2.0, 0.0), (2.0, 0.0)))
    found = HeatFlow(target=target).measure(Run(FromModel(model=model, size=10, test_size=10), model))
    assert found["half_fisher"] > 0.01
    assert found["heat_flow_ratio"] == pytest.approx(1, abs=1e-5)


def test_heat_flow_of_a_model_and_itself_says_so():
    with pytest.raises(ValueError, match="use another target"):
        HeatFlow(target=normal(0.0, 1.0)).measure(
            Run(FromModel(model=normal(0.0, 1.0), size=10, test_size=10), normal(0.0, 1.0))
        )
