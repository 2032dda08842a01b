"""Metrics that look at the model and its chains: `energy_gap`, `gradient_magnitude`, `acceptance`, `mode_weights` and
`log_likelihood`."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.distributions import MixtureSameFamily, MultivariateNormal

from ebmkit.chains.chain import run_chain
from ebmkit.components.metrics.acceptance import Acceptance
from ebmkit.components.metrics.energy_gap import EnergyGap
from ebmkit.components.metrics.gradient_magnitude import GradientMagnitude
from ebmkit.components.metrics.log_likelihood import LogLikelihood
from ebmkit.components.metrics.mode_weights import ModeWeights
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.maths import quadrature
from ebmkit.registry.builtin import ebmkit_components
from tests.components.oracles import EVENTS, generator, quadrature_log_z, random_covariance, rows
from tests.views import FakeView, model_for, viewed_spec

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


class RunView(FakeView):
    """As much of a run as these metrics read: data, a module, and chains that drew samples."""

    def __init__(self, module, event, *, test=None, train=None, samples=None, offers=("energy",), traces=None):
        nothing = torch.zeros(1, *event)
        test = nothing if test is None else test
        super().__init__(
            nothing if samples is None else samples,
            test,
            test if train is None else train,
            event=event,
            can_sample=samples is not None,
            traces=traces or {},
            module=module,
            spec=viewed_spec(model=model_for(offers=offers)),
        )

    def energy(self, x):
        assert x.shape[1:] == self.event
        return self.module(x).detach()


def chained(sampler, module, start, seed=0):
    """A view whose samples were drawn by a real chain."""
    chain = run_chain(sampler, module, start, generator(seed), traces=True)
    return RunView(module, tuple(start.shape[1:]), samples=chain.x, traces=chain.traces)


# energy_gap


class Heights(nn.Module):
    """The energy is the sum of all coordinates."""

    def forward(self, x):
        return x.flatten(1).sum(1)


@shapes
def test_energy_gap_is_a_difference_of_means(event):
    d = math.prod(event)
    levels = {"samples": [1.0, 2.0, 6.0], "test": [5.0, 5.0, 8.0], "train": [1.0, 1.5, 2.0]}
    points = {name: torch.tensor(at).view(-1, *[1] * len(event)).expand(-1, *event) for name, at in levels.items()}
    found = EnergyGap().measure(RunView(Heights(), event, **points))
    expected = {"energy_samples": 3 * d, "energy_test": 6 * d, "energy_train": 1.5 * d}
    assert found == pytest.approx(expected | {"energy_gap": 3 * d, "energy_overfit": 4.5 * d})
    assert tuple(found) == EnergyGap().results()


@shapes
def test_energy_gap_of_a_shifted_gaussian(event):
    """E is d/2 on average over the model's own samples, and |c|^2/2 more at data around c."""
    d, n = math.prod(event), 20_000
    module = Gaussian(mean=(0.0,) * d, shape=event).build(event)
    samples, test, train = (torch.randn(n, *event, generator=generator(k)) for k in range(3))
    found = EnergyGap(samples=n).measure(RunView(module, event, samples=samples, test=test + 1, train=train))
    # The variance of E is d/2 over samples, and 3d/2 around c = (1, ..., 1).
    assert abs(found["energy_samples"] - d / 2) < 6 * math.sqrt(d / 2 / n)
    assert abs(found["energy_gap"] - d / 2) < 6 * math.sqrt(2 * d / n)
    assert abs(found["energy_overfit"] - d / 2) < 6 * math.sqrt(2 * d / n)


# gradient_magnitude and acceptance


@shapes
def test_gradient_magnitude_is_the_mean_norm_along_the_chain(event):
    """Gradient descent on |x|^2/2 shrinks x by (1 - h) a step, and the norm of the gradient is that of x."""
    d, h, steps = math.prod(event), 0.1, 12
    module = Gaussian(mean=(0.0,) * d, shape=event).build(event)
    start = torch.randn(50, *event, generator=generator(0))
    view = chained(Langevin(steps=steps, step_size=h, noise_std=0.0), module, start)
    norm = float(start.flatten(1).norm(dim=1).mean())
    assert GradientMagnitude(samples=50).measure(view) == pytest.approx(
        {
            "gradient_magnitude": norm * (1 - (1 - h) ** steps) / (steps * h),
            "gradient_magnitude_first": norm,
            "gradient_magnitude_last": norm * (1 - h) ** (steps - 1),
        }
    )
    assert tuple(GradientMagnitude(samples=50).measure(view)) == GradientMagnitude().results()


@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_acceptance_is_that_of_the_closed_form(scale):
    n, steps = 50_000, 4
    module = Gaussian(mean=(0.0,)).build((1,))
    view = chained(Metropolis(steps=steps, scale=scale), module, torch.randn(n, 1, generator=generator(1)))
    found = Acceptance(samples=n).measure(view)
    exact = 2 / math.pi * math.atan(2 / scale)
    assert tuple(found) == Acceptance().results() == ("acceptance",)
    # Steps of one chain are correlated: the bound is that of a single one. False alarm 4e-8.
    assert abs(found["acceptance"] - exact) < 5.5 * math.sqrt(exact * (1 - exact) / n)


def test_samples_are_drawn_before_their_traces_are_read():
    class Late(RunView):
        def samples(self, n):
            self.traces = {"acceptance": torch.full((3,), n / 1000), "gradient_norm": torch.full((3,), n / 1000)}

    assert Acceptance(samples=250).measure(Late(None, (1,))) == {"acceptance": 0.25}
    assert GradientMagnitude(samples=500).measure(Late(None, (1,)))["gradient_magnitude_last"] == 0.5


def test_a_trace_that_is_not_there_is_named():
    view = RunView(None, (1,), samples=torch.zeros(1, 1), traces={"energy": torch.zeros(3)})
    with pytest.raises(ValueError, match="does not report 'acceptance'"):
        Acceptance(samples=1).measure(view)
    with pytest.raises(ValueError, match="does not report 'gradient_norm'"):
        GradientMagnitude(samples=1).measure(view)


def test_samplers_report_what_they_declare():
    """On a Gaussian, which offers everything; those that need another model are tested beside it."""
    module, tested = Gaussian(mean=(0.0, 0.0)).build((2,)), []
    for offer in ebmkit_components():
        if offer.kind != "sampler":
            continue
        sampler = offer.load()()
        if (
            "real" in sampler.traits().spaces
            and sampler.traits().needs <= Gaussian.offers
            and sampler.traits().conditioning is None
        ):
            seen = run_chain(sampler, module, torch.zeros(3, 2), generator(0), traces=True).traces
            assert set(seen) == set(sampler.traits().traces), sampler.component_name
            tested.append(sampler.component_name)
    assert {"exact", "langevin", "metropolis"} <= set(tested)


# mode_weights


@shapes
def test_mode_weights_are_shares_of_the_nearest(event):
    d = math.prod(event)
    along = torch.tensor([-3.0, -2.9, -1.1, 0.0, 0.4, 3.2, 9.0, 3.0]).view(-1, *[1] * len(event)).expand(-1, *event)
    metric = ModeWeights(
        modes=((-3.0,) * d, (0.0,) * d, (3.0,) * d), weights=(2.0, 1.0, 1.0), radius=1.5 * math.sqrt(d)
    )
    found = metric.measure(RunView(None, event, samples=along))
    expected = {"mode_weight_0": 2 / 8, "mode_weight_1": 3 / 8, "mode_weight_2": 2 / 8, "mode_outside": 1 / 8}
    assert found == pytest.approx(expected | {"mode_error": 1 / 4})
    assert tuple(found) == metric.results()
    everywhere = ModeWeights(modes=metric.modes).measure(RunView(None, event, samples=along))
    assert everywhere == pytest.approx({"mode_weight_0": 2 / 8, "mode_weight_1": 3 / 8, "mode_weight_2": 3 / 8})


@shapes
def test_mode_weights_of_a_mixture_that_knows_its_own(event):
    d, n = math.prod(event), 20_000
    mixture = GaussianMixture(means=((-5.0,) * d, (5.0,) * d), covariances=(0.5, 1.0), weights=(1.0, 4.0), shape=event)
    module = mixture.build(event)
    samples = module.sample_exact(n, generator(0))
    metric = ModeWeights(samples=n)
    found = metric.measure(RunView(module, event, samples=samples))
    assert tuple(found) == metric.results() == ("mode_error",)
    assert found["mode_error"] < 5.5 * math.sqrt(0.2 * 0.8 / n)  # false alarm 4e-8
    unfair = samples[samples.flatten(1)[:, 0] > 0]
    assert metric.measure(RunView(module, event, samples=unfair))["mode_error"] == pytest.approx(0.2)
    told = ModeWeights(modes=mixture.means, weights=(1.0, 4.0), samples=n).measure(
        RunView(None, event, samples=samples)
    )
    assert told["mode_error"] == pytest.approx(found["mode_error"])
    assert told["mode_weight_0"] + told["mode_weight_1"] == pytest.approx(1)


def test_mode_weights_refuse_what_does_not_fit():
    with pytest.raises(ValueError, match=r"modes\[1\] has 1 coordinates, but modes\[0\] has 2"):
        ModeWeights(modes=((0.0, 0.0), (1.0,)))
    with pytest.raises(ValueError, match="3 weights for 2 modes"):
        ModeWeights(modes=((0.0,), (1.0,)), weights=(1.0, 1.0, 1.0))
    with pytest.raises(ValueError, match="1 weights for 0 modes"):
        ModeWeights(weights=(1.0,))
    assert "does not offer its own" in ModeWeights().refusal(Question((2,), MLP()))
    assert ModeWeights().refusal(Question((2,), GaussianMixture())) is None
    assert "modes of 1 coordinates, but a state has 4" in ModeWeights(modes=((0.0,),)).refusal(
        Question((1, 2, 2), MLP())
    )
    assert ModeWeights(modes=((0.0,) * 4,)).refusal(Question((1, 2, 2), MLP())) is None


# log_likelihood


def gaussian(d):
    covariance = random_covariance(d, 3)
    mean = torch.linspace(-1, 2, d)
    law = MultivariateNormal(mean, covariance)
    return Gaussian(mean=tuple(mean.tolist()), covariance=rows(covariance)).build((d,)), law


def mixture(d):
    means = 3 * torch.randn(3, d, generator=generator(4))
    covariances = torch.stack([random_covariance(d, k) for k in range(3)])
    weights = torch.tensor([0.2, 0.5, 0.3])
    law = MixtureSameFamily(torch.distributions.Categorical(weights), MultivariateNormal(means, covariances))
    component = GaussianMixture(
        means=rows(means), covariances=tuple(rows(c) for c in covariances), weights=tuple(weights.tolist())
    )
    return component.build((d,)), law


def laws(module, d, n=2000):
    """Test and training points of a module that can be sampled."""
    return {name: module.sample_exact(n, generator(k)) for k, name in enumerate(("test", "train"))}


both = pytest.mark.parametrize("make", [gaussian, mixture], ids=lambda f: f.__name__)


@both
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("precision", [torch.float64, torch.float32])
def test_log_likelihood_by_quadrature_is_the_closed_form(make, d, precision):
    module, law = make(d)
    points = laws(module, d)
    view = RunView(module.to(precision), (d,), **{name: x.to(precision) for name, x in points.items()})
    found = LogLikelihood().measure(view)
    assert tuple(found) == LogLikelihood().results()
    accuracy = 1e-7 if precision == torch.float64 else 1e-5  # parameters that were rounded are another law
    assert found["log_likelihood"] == pytest.approx(float(law.log_prob(points["test"]).mean()), abs=accuracy)
    assert found["log_likelihood_train"] == pytest.approx(float(law.log_prob(points["train"]).mean()), abs=accuracy)
    assert found["log_normaliser"] == pytest.approx(float(module.log_z().detach()), abs=accuracy)
    assert 0 <= found["log_likelihood_error"] < 1e-4
    assert {p.dtype for p in module.parameters()} == {precision}  # the run's own module is as it was
    assert all(p.requires_grad for p in module.parameters())


@both
@pytest.mark.parametrize("d", [1, 2, 10, 16])
def test_log_likelihood_is_exact_where_the_model_knows_its_normaliser(make, d):
    module, law = make(d)
    points = laws(module, d)
    event = (1, 4, 4) if d == 16 else (d,)
    shaped = {name: x.view(-1, *event) for name, x in points.items()}
    found = LogLikelihood().measure(RunView(module, event, **shaped, offers=("energy", "log_z")))
    assert found["log_likelihood"] == pytest.approx(float(law.log_prob(points["test"]).mean()), abs=1e-10)
    assert found["log_likelihood_error"] == 0


@pytest.mark.parametrize("event", [(1,), (1, 1, 2)], ids=str)
def test_log_likelihood_of_a_network(event):
    """Against a far larger grid, for an activation with kinks."""
    torch.manual_seed(0)
    d = math.prod(event)
    module = MLP(hidden=(16, 16), activation="relu", base_scale=1.0).build(event)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter *= 3
    points = torch.randn(500, *event, generator=generator(0))
    found = LogLikelihood().measure(RunView(module, event, test=points))
    exact = quadrature_log_z(lambda x: module(x.view(-1, *event)), d, reach=12.0, points=200_001 if d == 1 else 1601)
    assert found["log_normaliser"] == pytest.approx(exact, abs=1e-4)
    assert found["log_likelihood"] == pytest.approx(-float(module(points).detach().mean()) - exact, abs=1e-4)


@pytest.mark.parametrize("d", [1, 2])
def test_the_box_widens_until_it_holds_the_density(d):
    """The data lie within a hundredth of a standard deviation, or all in one point."""
    module = Gaussian(mean=(0.3,) * d, covariance=4.0).build((d,))
    points = 0.3 + 0.02 * torch.randn(100, d, generator=generator(0))
    for test in (points, points[:1]):
        found = LogLikelihood().measure(RunView(module, (d,), test=test))
        assert found["log_normaliser"] == pytest.approx(d / 2 * math.log(8 * math.pi), abs=1e-7)


def test_samples_show_mass_that_is_far_from_the_data():
    module = GaussianMixture(means=((0.0,), (1000.0,)), covariances=(1.0,), weights=(0.5, 0.5)).build((1,))
    test = torch.randn(500, 1, generator=generator(0))
    both = module.sample_exact(500, generator(1))
    exact = float(module.log_z().detach())
    found = LogLikelihood().measure(RunView(module, (1,), test=test, samples=both))["log_normaliser"]
    assert found == pytest.approx(exact, abs=1e-7)
    unseen = LogLikelihood().measure(RunView(module, (1,), test=test))["log_normaliser"]
    assert unseen == pytest.approx(exact - math.log(2), abs=1e-7)  # so the samples did matter


class Slope(nn.Module):
    """Falls for ever in one direction."""

    def forward(self, x):
        return x.flatten(1).square().sum(1) / 2 - x.flatten(1)[:, 0] ** 2 / 2 - x.flatten(1)[:, 0]


class Tails(nn.Module):
    """A Cauchy density, whose tails a box never holds."""

    def forward(self, x):
        return x.square().sum(1).log1p()


@pytest.mark.parametrize(("module", "d"), [(Slope(), 1), (Slope(), 2), (Tails(), 2)])
def test_a_density_that_nothing_confines_is_an_error(module, d):
    view = RunView(module, (d,), test=torch.randn(100, d, generator=generator(0)))
    with pytest.raises(ValueError, match="the energy is not confining"):
        LogLikelihood().measure(view)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("offset", [0.0, 0.5], ids=["on a point of the grid", "between two"])
def test_a_density_too_narrow_for_the_grid_is_an_error(d, offset, monkeypatch):
    monkeypatch.setattr(quadrature, "MOST", 70_000)  # 257 a side in the plane, 65,537 on a line
    # A needle beside a hill: the hill alone would be integrated without complaint.
    spacing = 1.5 * 2 / (256 if d == 2 else 65_536)
    module = GaussianMixture(
        means=((offset * spacing,) * d, (0.0,) * d), covariances=((spacing / 8) ** 2, 0.01), weights=(1.0, 1.0)
    ).build((d,))
    test = torch.cat([torch.full((1, d), offset * spacing), -torch.ones(1, d), torch.ones(1, d)])
    with pytest.raises(ValueError, match="the density is too narrow"):
        LogLikelihood().measure(RunView(module, (d,), test=test))


def test_the_grid_is_refined_for_a_narrow_density():
    module = Gaussian(mean=(0.1, 0.2), covariance=0.005**2).build((2,))
    test = torch.cat([torch.full((1, 2), -1.0), torch.ones(1, 2), torch.tensor([[0.1, 0.2]])])
    found = LogLikelihood().measure(RunView(module, (2,), test=test))
    assert found["log_normaliser"] == pytest.approx(float(module.log_z().detach()), abs=1e-6)


@pytest.mark.parametrize("wrong", [math.nan, -math.inf])
def test_an_energy_that_is_not_finite_is_not_integrated_over(wrong):
    class Hole(nn.Module):
        def forward(self, x):
            return torch.where(x[:, 0] > 1.4, wrong, x[:, 0].square() / 2)

    test = torch.linspace(-1, 1, 50)[:, None]
    with pytest.raises(FloatingPointError, match=r"the energy is not finite at \d+ of 1025 points"):
        LogLikelihood().measure(RunView(Hole(), (1,), test=test))


def test_walls_of_infinite_energy_are_a_density_of_zero():
    class Walls(nn.Module):
        def forward(self, x):
            return torch.where(x[:, 0].abs() > 1, math.inf, 0.0)

    test = torch.linspace(-0.9, 0.9, 50)[:, None]
    found = LogLikelihood(tolerance=1e-3).measure(RunView(Walls(), (1,), test=test))
    assert found["log_normaliser"] == pytest.approx(math.log(2), abs=1e-3)


def test_log_likelihood_is_refused_where_it_cannot_be_integrated():
    metric = LogLikelihood()
    for event in ((1,), (2,), (1, 1, 2)):
        assert metric.refusal(Question(event, MLP())) is None
    assert "a state has 16 real ones" in metric.refusal(Question((1, 4, 4), MLP()))
    assert metric.refusal(Question((1, 4, 4), Gaussian(mean=(0.0,) * 16))) is None
    spin = SimpleNamespace(traits=lambda: ModelTraits("spin", frozenset({"energy"})))
    assert metric.refusal(Question((25,), spin)) is None
    assert "26 spin ones" in metric.refusal(Question((26,), spin))


# before the run

TRAINED = "ebmkit: 1\ndata: two_moons\nmodel: mlp\ntrain: {steps: 1}\n"


@pytest.mark.parametrize(
    ("spec", "code", "says"),
    [
        (
            TRAINED + "objective: {use: mle, sampler: langevin}\nevaluate: [acceptance]",
            "E204",
            "sampler 'langevin' does not report",
        ),
        (TRAINED + "objective: nce\nsampler: langevin\nevaluate: [acceptance]", "E204", "acceptance of chains"),
        (
            TRAINED + "objective: {use: mle, sampler: metropolis}\nevaluate: [gradient_magnitude]",
            "E204",
            "sampler 'metropolis' does not report",
        ),
        (TRAINED + "objective: mle\nevaluate: [mode_weights]", "E209", "the model does not offer its own"),
        (
            TRAINED + "objective: mle\nevaluate: [{use: mode_weights, modes: [[0.0]]}]",
            "E209",
            "modes of 1 coordinates, but a state has 2",
        ),
        (
            TRAINED + "objective: {use: mle, sampler: {use: metropolis, center: [0.0]}}",
            "E202",
            "'center' of 1 coordinates, but a state has 2",
        ),
        ("ebmkit: 1\nmodel: gaussian\nsampler: exact\nevaluate: [energy_gap]", "E205", "there is no 'data:'"),
    ],
)
def test_misfits_are_named_with_both_places(spec, code, says, tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(spec)
    with pytest.raises(Mistakes) as caught:
        load_spec(path)
    (mistake,) = caught.value.mistakes
    assert mistake.code == code
    assert says in mistake.message
    assert code == "E205" or mistake.other is not None


def test_what_fits_is_not_refused(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(
        TRAINED + "objective: {use: mle, sampler: {use: metropolis, center: [0.0, 0.0]}}\n"
        "evaluate: [acceptance, energy_gap, log_likelihood, {use: mode_weights, modes: [[0.0, 0.0]]}]\n"
        "expect: [{metric: acceptance, above: 0.0}, {metric: mode_weight_0, above: 0.0}]\n"
    )
    assert load_spec(path)
