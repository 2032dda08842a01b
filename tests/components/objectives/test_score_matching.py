"""The score-matching family, by closed forms, quadrature and enumeration of all probes."""

import itertools
import math

import pytest
import torch

from ebmkit.chains.context import StepContext
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.conv_layers import ConvLayer
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.components.models.mlp import MLP
from ebmkit.components.objectives.explicit_score_matching import ExplicitScoreMatching
from ebmkit.components.objectives.finite_difference_score_matching import FiniteDifferenceScoreMatching
from ebmkit.components.objectives.hutchinson_score_matching import HutchinsonScoreMatching
from ebmkit.components.objectives.score_matching import ScoreMatching
from ebmkit.components.objectives.sliced_score_matching import SlicedScoreMatching
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.maths import probes
from tests.components.oracles import EVENTS, assert_mean, generator, random_covariance, rows

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
#: Of few enough coordinates that all vectors of signs can be had.
SMALL = pytest.mark.parametrize("event", [(1,), (2,), (10,), (1, 3, 3)], ids=str)
CLOSE = {"rtol": 1e-10, "atol": 1e-10}

PROBED = [
    SlicedScoreMatching(),
    SlicedScoreMatching(variance_reduced=False),
    HutchinsonScoreMatching(),
]


def called(objective):
    plain = objective.component_name == "sliced_score_matching" and not objective.variance_reduced
    return objective.component_name + (" as it is" if plain else "")


def mixture(event, seed=0):
    d = math.prod(event)
    means = torch.randn(2, d, generator=generator(seed))
    covariances = (rows(random_covariance(d, seed)), rows(random_covariance(d, seed + 1)))
    return GaussianMixture(means=rows(means), covariances=covariances, weights=(1.0, 2.0), shape=event)


def network(event, **changes):
    torch.manual_seed(0)
    return MLP(**({"hidden": (5, 4), "activation": "tanh"} | changes)).build(event)


def model_of(kind, event):
    """One whose second derivatives are known by hand, and two that are differentiated twice."""
    if kind == "mlp":
        return network(event)
    if kind == "mixture":
        return mixture(event, 5).build(event)
    torch.manual_seed(0)
    return Conv(layers=(ConvLayer(channels=2),), dense=(3,), activation="softplus").build(event)


def loss(objective, module, batch, seed=1):
    return objective.loss(
        module, batch, StepContext(generator(seed), objective.extras(tuple(batch.shape[1:]), batch), 1)
    )


def slopes(value, module):
    """All parameter gradients in one vector; an additive constant of the energy has none."""
    found = torch.autograd.grad(value, list(module.parameters()), retain_graph=True, materialize_grads=True)
    return torch.cat([g.flatten() for g in found])


def pointwise(module, x):
    """dE/dx `(B, d)` and the Hessian `(B, d, d)` by autograd of the forward pass alone, with their graphs."""
    flat = x.flatten(1).clone().requires_grad_()
    (slope,) = torch.autograd.grad(module(flat.view_as(x)).sum(), flat, create_graph=True)
    lines = [
        torch.autograd.grad(slope[:, i].sum(), flat, create_graph=True, materialize_grads=True)[0]
        for i in range(flat.shape[1])
    ]
    return slope, torch.stack(lines, 1)


def weighed(objective, module, x, weights, extras):
    """The loss under weights that sum to one. A loss is a mean over its batch: one batch for each binary digit, of the
    states whose weights have it."""
    total, left = 0.0, weights.clone()
    for digit in (2.0**-k for k in range(1, 60)):
        has = left >= digit
        left = left - digit * has
        if bool(has.any()):
            value = objective.loss(module, x[has], StepContext(generator(0), extras, 1)).value
            total = total + digit * int(has.sum()) * value
    return total


def signs(d):
    return torch.tensor(list(itertools.product([-1.0, 1.0], repeat=d)))


def all_signs(law, x, count, rng):
    """In the place of `draw_probes`: every vector of signs, each for all states."""
    v = signs(math.prod(x.shape[1:]))
    return v.view(-1, 1, *x.shape[1:]).expand(-1, *x.shape)


# --- exact score matching --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["mlp", "mixture"])
@shapes
def test_the_formula_with_the_whole_hessian(event, kind):
    module, x = model_of(kind, event), torch.randn(6, *event, generator=generator(0))
    found = loss(ScoreMatching(), module, x)
    slope, hessian = pointwise(module, x)
    trace = hessian.diagonal(dim1=1, dim2=2).sum(1)
    exact = (slope.square().sum(1) / 2 - trace).mean()
    torch.testing.assert_close(found.value, exact, **CLOSE)
    torch.testing.assert_close(found.metrics["trace"], -trace.mean().detach(), **CLOSE)
    torch.testing.assert_close(slopes(found.value, module), slopes(exact, module), **CLOSE)


@pytest.mark.parametrize("kind", ["mlp", "mixture"])
@pytest.mark.parametrize("d", [1, 2])
def test_is_explicit_score_matching_up_to_a_constant_by_quadrature(d, kind):
    """Both losses at every point of a grid, weighed with the density of the data.

    They differ by 1/2 E|s_data|^2, whatever the parameters are, so that their gradients are the same.
    """
    truth = GaussianMixture(means=((-0.4,) * d, (0.5,) * d), covariances=(1.0, 0.8), weights=(1.0, 2.0))
    data = truth.build((d,))
    # Exact, because nothing that is integrated has a pole within some steps of the real axis.
    axis = torch.arange(-8.0, 8.1, 0.1 if d == 1 else 0.4)
    grid = torch.cartesian_prod(*[axis] * d).view(-1, d)
    weights = torch.softmax(-data(grid), 0).detach()
    known = data.energy_and_grad(grid)[1].detach()
    constant = (weights * known.square().sum(1)).sum() / 2
    if kind == "mlp":
        module = network((d,), activation="silu")
    else:
        module = GaussianMixture(means=((0.0,) * d, (0.7,) * d), covariances=(1.3, 0.9)).build((d,))
    explicit, implicit = ExplicitScoreMatching(target=truth), ScoreMatching()
    extras = explicit.extras((d,), grid)

    of, by = (weighed(objective, module, grid, weights, extras) for objective in (explicit, implicit))
    torch.testing.assert_close(of - by, constant, **CLOSE)
    torch.testing.assert_close(slopes(of, module), slopes(by, module), **CLOSE)
    assert float(slopes(of, module).norm()) > 0.01


@shapes
def test_is_explicit_score_matching_up_to_a_constant_by_closed_forms(event):
    """Gaussian data: of 2d points mu +- sqrt(d) L e_i all means and covariances are those of N(mu, LL'), and of a
    Gaussian model both losses are quadratic in x. With P the model's precision and m its mean,

        score_matching = 1/2 tr P C P + 1/2 |P (mu - m)|^2 - tr P,    explicit = that + 1/2 tr C^-1
    """
    d = math.prod(event)
    covariance, mu = random_covariance(d, 1), torch.randn(d, generator=generator(2))
    factor = math.sqrt(d) * torch.linalg.cholesky(covariance)
    batch = (mu + torch.cat([factor.T, -factor.T])).view(-1, *event)
    truth = Gaussian(mean=tuple(mu.tolist()), covariance=rows(covariance), shape=event)
    module = Gaussian(mean=(0.3,) * d, covariance=rows(random_covariance(d, 4)), shape=event).build(event)
    implicit = loss(ScoreMatching(), module, batch).value
    explicit = loss(ExplicitScoreMatching(target=truth), module, batch).value
    precision = module.whitening.T @ module.whitening
    off = precision @ (mu - module.mean)
    exact = (precision @ covariance @ precision).trace() / 2 + off.square().sum() / 2 - precision.trace()
    torch.testing.assert_close(implicit, exact, **CLOSE)
    torch.testing.assert_close(explicit - implicit, torch.linalg.inv(covariance).trace() / 2, **CLOSE)
    torch.testing.assert_close(slopes(implicit, module), slopes(exact, module), **CLOSE)
    torch.testing.assert_close(slopes(explicit, module), slopes(exact, module), **CLOSE)


@shapes
def test_explicit_is_half_the_square_of_the_difference(event):
    """Of a network and a mixture, against the energies' gradients by autograd."""
    module, truth, x = network(event), mixture(event), torch.randn(6, *event, generator=generator(0))
    found = loss(ExplicitScoreMatching(target=truth), module, x)
    slope, _ = pointwise(module, x)
    other, _ = pointwise(truth.build(event), x)
    exact = (slope - other.detach()).square().sum(1).mean() / 2
    torch.testing.assert_close(found.value, exact, **CLOSE)
    torch.testing.assert_close(slopes(found.value, module), slopes(exact, module), **CLOSE)
    assert float(found.value.detach()) > 0.1


@shapes
def test_explicit_is_zero_at_the_truth_and_does_not_train_it(event):
    truth, x = mixture(event), torch.randn(6, *event, generator=generator(0))
    objective = ExplicitScoreMatching(target=truth)
    extras = objective.extras(event, x)
    assert not any(p.requires_grad for p in extras.parameters())
    value = objective.loss(truth.build(event), x, StepContext(generator(0), extras, 1)).value
    assert float(value.detach()) == pytest.approx(0, abs=1e-20)


def test_targets_of_explicit_score_matching_that_do_not_fit():
    with pytest.raises(ValueError, match="has no score"):
        ExplicitScoreMatching(target=Boltzmann())
    spec = {
        "ebmkit": 1,
        "data": "two_moons",
        "model": "mlp",
        "objective": {"use": "explicit_score_matching", "target": {"use": "gaussian", "mean": [0, 0, 0]}},
        "train": {"steps": 1},
    }
    with pytest.raises(Mistakes, match=r"target on states of shape \(3,\)"):
        load_spec(spec)


# --- probes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["gaussian", "rademacher", "sphere"])
@shapes
def test_probes_have_the_identity_as_second_moments(event, law):
    """Which is all that makes an estimate of a trace unbiased. Six standard errors: false alarm 2e-9 an entry."""
    d, n = math.prod(event), 40_000
    v = probes.draw_probes(law, torch.empty(n // 2, *event), 2, generator(0))
    assert v.shape == (2, n // 2, *event)
    flat = v.view(n, d)
    assert_mean(flat, 0.0)
    moments = (flat.unsqueeze(2) * flat.unsqueeze(1)).view(n, -1)
    assert_mean(moments, torch.eye(d).flatten())
    if law == "rademacher":
        assert set(flat.unique().tolist()) == {-1.0, 1.0}
    else:
        assert_mean(flat.pow(4), 3.0 if law == "gaussian" else 3 * d / (d + 2))
    if law != "gaussian":
        torch.testing.assert_close(flat.square().sum(1), torch.full((n,), float(d)))


@pytest.mark.parametrize("objective", PROBED, ids=called)
@SMALL
def test_over_all_vectors_of_signs_it_is_exact(event, objective, monkeypatch):
    """2^d of them, each as likely: value and parameter gradients are those of `score_matching`."""
    monkeypatch.setattr(probes, "draw_probes", all_signs)
    module, x = network(event), torch.randn(3, *event, generator=generator(0))
    found, exact = loss(objective, module, x), loss(ScoreMatching(), module, x)
    torch.testing.assert_close(found.value, exact.value, **CLOSE)
    torch.testing.assert_close(found.metrics["trace"], exact.metrics["trace"], **CLOSE)
    torch.testing.assert_close(slopes(found.value, module), slopes(exact.value, module), **CLOSE)


@pytest.mark.parametrize("objective", PROBED, ids=called)
@pytest.mark.parametrize(
    ("kind", "event"), [("mixture", (1,)), ("mixture", (2,)), ("mixture", (6,)), ("conv", (1, 3, 2))], ids=str
)
def test_over_all_vectors_of_signs_it_is_exact_without_derivatives_by_hand(kind, event, objective, monkeypatch):
    monkeypatch.setattr(probes, "draw_probes", all_signs)
    module, x = model_of(kind, event), torch.randn(3, *event, generator=generator(0))
    found, exact = loss(objective, module, x), loss(ScoreMatching(), module, x)
    torch.testing.assert_close(found.value, exact.value, **CLOSE)
    torch.testing.assert_close(slopes(found.value, module), slopes(exact.value, module), **CLOSE)


@pytest.mark.parametrize("kind", ["mlp", "mixture"])
@pytest.mark.parametrize("law", ["gaussian", "rademacher", "sphere"])
@shapes
def test_several_projections_are_the_mean_of_the_formula(event, law, kind):
    """1/2 (v's)^2 + v' ds/dx v with the whole Hessian, for the directions that were drawn."""
    module, x = model_of(kind, event), torch.randn(4, *event, generator=generator(0))
    v = probes.draw_probes(law, x, 3, generator(1)).flatten(2)
    slope, hessian = pointwise(module, x)
    bend = torch.einsum("kbi,bij,kbj->kb", v, hessian, v)
    along = torch.einsum("kbi,bi->kb", v, slope).square() / 2
    length = slope.square().sum(1) / 2
    cases = [
        (SlicedScoreMatching(projection=law, projections=3), (length - bend).mean()),
        (SlicedScoreMatching(projection=law, projections=3, variance_reduced=False), (along - bend).mean()),
    ]
    if law != "sphere":
        cases.append((HutchinsonScoreMatching(probe=law, projections=3), (length - bend).mean()))
    for objective, exact in cases:
        found = loss(objective, module, x)
        torch.testing.assert_close(found.value, exact, **CLOSE)
        torch.testing.assert_close(found.metrics["trace"], -bend.mean().detach(), **CLOSE)
        torch.testing.assert_close(slopes(found.value, module), slopes(exact, module), **CLOSE)


@pytest.mark.parametrize("law", ["gaussian", "rademacher", "sphere"])
@shapes
def test_every_law_is_unbiased(event, law):
    """Value and parameter gradients, within six standard errors over 40 draws of 50 projections."""
    module, x = network(event), torch.randn(5, *event, generator=generator(0))
    value = loss(ScoreMatching(), module, x).value
    exact = torch.cat([value.detach().view(1), slopes(value, module)])
    objectives = [SlicedScoreMatching(projection=law, projections=50, variance_reduced=vr) for vr in (True, False)]
    if law != "sphere":
        objectives.append(HutchinsonScoreMatching(probe=law, projections=50))
    for objective in objectives:
        draws = []
        for seed in range(40):
            value = loss(objective, module, x, seed).value
            draws.append(torch.cat([value.detach().view(1), slopes(value, module)]))
        assert_mean(torch.stack(draws), exact)


def test_directions_are_of_every_state_its_own():
    """Not one direction for the whole batch, which would be unbiased too, and scatter more."""
    v = probes.draw_probes("gaussian", torch.empty(5, 2), 3, generator(0)).view(-1, 2)
    assert len(v.unique(dim=0)) == 15


# --- finite differences ----------------------------------------------------------------------------------------------

SLICED = SlicedScoreMatching(projection="sphere", variance_reduced=False)


@shapes
def test_finite_differences_converge_with_order_two(event):
    """To sliced score matching along the same directions, in value and in gradient."""
    module, x = network(event, hidden=(8, 8)), torch.randn(5, *event, generator=generator(0))
    exact = loss(SLICED, module, x).value
    slope = slopes(exact, module)
    steps = torch.tensor([0.2, 0.1, 0.05, 0.025])
    errors = []
    for eps in steps.tolist():
        value = loss(FiniteDifferenceScoreMatching(eps=eps), module, x).value
        errors.append([float((value - exact).abs().detach()), float((slopes(value, module) - slope).norm())])
    for error in torch.tensor(errors).T:
        assert float(error[0]) > 1e-6  # not lost in rounding
        log_eps, log_error = steps.log(), error.log()
        order = torch.cov(torch.stack([log_eps, log_error]))[0, 1] / log_eps.var()
        assert float(order) == pytest.approx(2, abs=0.05)


@shapes
def test_finite_differences_of_a_quadratic_energy_are_exact(event):
    """Whatever the step: differences of a parabola are its derivatives."""
    d = math.prod(event)
    module = Gaussian(mean=(0.3,) * d, covariance=rows(random_covariance(d, 4)), shape=event).build(event)
    x = torch.randn(6, *event, generator=generator(0))
    exact = loss(SLICED, module, x)
    for eps in (0.05, 0.5, 3.0):
        found = loss(FiniteDifferenceScoreMatching(eps=eps), module, x)
        torch.testing.assert_close(found.value, exact.value, **CLOSE)
        torch.testing.assert_close(found.metrics["trace"], exact.metrics["trace"], **CLOSE)
        torch.testing.assert_close(slopes(found.value, module), slopes(exact.value, module), **CLOSE)


# --- what is printed otherwise ---------------------------------------------------------------------------------------


def printed(slope, hessian):
    """Beigy's implicit score matching: a plus, and the second derivative squared."""
    return (slope.square() / 2 + hessian.diagonal(dim1=1, dim2=2).square()).sum(1).mean()


def printed_sliced(slope, hessian, v):
    """Beigy's sliced score matching in terms of E, for directions `(K, d)`: a plus, and squares inside the sum."""
    inside = (v.unsqueeze(1) * slope).square().sum(2) / 2
    return (inside + torch.einsum("ki,bij,kj->kb", v, hessian, v)).mean()


@shapes
def test_at_the_truth_ours_is_at_rest_and_what_is_printed_is_not(event):
    """At data whose mean and covariance are exactly those of the model, as above."""
    d = math.prod(event)
    covariance, mu = random_covariance(d, 1), torch.randn(d, generator=generator(2))
    factor = math.sqrt(d) * torch.linalg.cholesky(covariance)
    batch = (mu + torch.cat([factor.T, -factor.T])).view(-1, *event)
    module = Gaussian(mean=tuple(mu.tolist()), covariance=rows(covariance), shape=event).build(event)
    value = loss(ScoreMatching(), module, batch).value
    assert float(slopes(value, module).abs().max()) < 1e-10
    theirs = printed(*pointwise(module, batch))
    assert float(slopes(theirs, module).norm()) > 0.1
    assert abs(float((theirs - value).detach())) > 0.1


@SMALL
def test_at_the_truth_ours_is_at_rest_and_what_is_printed_is_not_when_sliced(event, monkeypatch):
    monkeypatch.setattr(probes, "draw_probes", all_signs)
    d = math.prod(event)
    covariance, mu = random_covariance(d, 1), torch.randn(d, generator=generator(2))
    factor = math.sqrt(d) * torch.linalg.cholesky(covariance)
    batch = (mu + torch.cat([factor.T, -factor.T])).view(-1, *event)
    module = Gaussian(mean=tuple(mu.tolist()), covariance=rows(covariance), shape=event).build(event)
    value = loss(SlicedScoreMatching(variance_reduced=False), module, batch).value
    assert float(slopes(value, module).abs().max()) < 1e-10
    theirs = printed_sliced(*pointwise(module, batch), signs(d))
    assert float(slopes(theirs, module).norm()) > 0.1
    assert abs(float((theirs - value).detach())) > 0.1


@pytest.mark.parametrize("objective", ["score_matching", "hutchinson_score_matching", "sliced_score_matching"])
@pytest.mark.parametrize("activation", ["relu", "silu"])
def test_networks_without_curvature_are_refused(objective, activation):
    """Their trace is a constant, and a flat energy would be the minimum."""
    spec = {
        "ebmkit": 1,
        "data": "two_moons",
        "model": {"use": "mlp", "activation": activation},
        "objective": objective,
        "train": {"steps": 1},
    }
    if activation == "silu":
        load_spec(spec)
        return
    with pytest.raises(Mistakes, match="which are zero for a piecewise linear activation"):
        load_spec(spec)
