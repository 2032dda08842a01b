"""`exponential_family` and its fit in closed form."""

import itertools
import math

import pytest
import torch

from ebmkit.chains.context import StepContext
from ebmkit.components.models.exponential_family import ExponentialFamily
from ebmkit.components.models.nets import exponential_family
from ebmkit.components.objectives.closed_form_score_matching import ClosedFormScoreMatching
from ebmkit.components.objectives.score_matching import ScoreMatching
from ebmkit.components.optimizers.sgd import SGD
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.testing.setting import small_setting
from tests.components.oracles import EVENTS, generator, random_covariance

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)
FULL = ("linear", "quadratic", "cubic", "quartic")


def gaussian_data(event, n=400):
    d = math.prod(event)
    factor = torch.linalg.cholesky(random_covariance(d, 3))
    return (torch.randn(n, d, generator=generator(0)) @ factor.T + 0.7).view(-1, *event)


def fitted(model, data):
    """The module at theta*, and the extras that know it."""
    event = tuple(data.shape[1:])
    module, objective = model.build(event), ClosedFormScoreMatching()
    extras = objective.extras(event, data)
    prepare_modules(extras, small_setting(module))
    with torch.no_grad():
        module.theta.copy_(extras.optimum)
    return module, extras


def score_matching(module, x):
    """1/2 |s|^2 + div s by autograd of the energy alone, differentiable in the parameters."""
    x = x.flatten(1).clone().requires_grad_()
    (slope,) = torch.autograd.grad(module(x).sum(), x, create_graph=True)
    divergence = 0.0
    for k in range(x.shape[1]):
        (row,) = torch.autograd.grad(slope[:, k].sum(), x, create_graph=True)
        divergence = divergence + row[:, k]
    return (slope.square().sum(1) / 2 - divergence).mean()


@shapes
def test_begins_as_a_standard_normal(event):
    for names in [("linear", "quadratic"), ("squares",), FULL]:
        module, x = ExponentialFamily(statistics=names).build(event), torch.randn(5, *event, generator=generator(0))
        torch.testing.assert_close(module(x), x.flatten(1).square().sum(1) / 2)
    x = torch.randn(5, *event, generator=generator(0))
    quartic = ExponentialFamily(statistics=("linear", "quartic")).build(event)
    torch.testing.assert_close(quartic(x), x.flatten(1).pow(4).sum(1) / 4)


@shapes
@pytest.mark.parametrize("names", [("linear", "squares"), FULL], ids=str)
def test_statistics_have_the_derivatives_of_autograd(event, names):
    module, x = ExponentialFamily(statistics=names).build(event), torch.randn(4, *event, generator=generator(0))
    x[0] = 0  # where a power of zero would show
    gradients, laplacians = module.statistic_gradients(x), module.statistic_laplacians(x)
    d = math.prod(event)
    expected = {"linear": d, "squares": d, "quadratic": d * (d + 1) // 2, "cubic": d, "quartic": d}
    assert module.statistics(x).shape == (4, sum(expected[name] for name in names)) == laplacians.shape
    flat = x.flatten(1)
    jacobian = torch.func.vmap(torch.func.jacrev(lambda row: module.statistics(row[None])[0]))(flat)
    torch.testing.assert_close(gradients, jacobian, rtol=0, atol=1e-12)
    hessian = torch.func.vmap(torch.func.hessian(lambda row: module.statistics(row[None])[0]))(flat)
    torch.testing.assert_close(laplacians, hessian.diagonal(dim1=2, dim2=3).sum(2), rtol=0, atol=1e-12)


@shapes
def test_score_matching_has_the_loss_and_gradient_of_autograd(event):
    module, x = ExponentialFamily(statistics=FULL).build(event), torch.randn(4, *event, generator=generator(0))
    with torch.no_grad():
        module.theta.normal_(generator=generator(1))
    loss = ScoreMatching().loss(module, x, StepContext(generator(2), None, 1)).value
    expected = score_matching(module, x)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(*(torch.autograd.grad(value, module.theta) for value in (loss, expected)))


@shapes
def test_a_gaussian_gets_the_mean_and_the_inverse_covariance_of_its_data(event):
    data = gaussian_data(event)
    module, _ = fitted(ExponentialFamily(), data)
    flat, d = data.flatten(1), math.prod(event)
    precision = torch.linalg.inv(torch.cov(flat.T, correction=0).view(d, d))
    linear, quadratic = module.theta.detach()[:d], torch.zeros(d, d)
    for k, (i, j) in enumerate(itertools.combinations_with_replacement(range(d), 2)):
        quadratic[i, j] -= module.theta.detach()[d + k]
        quadratic[j, i] -= module.theta.detach()[d + k]
    torch.testing.assert_close(quadratic, precision, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(linear, precision @ flat.mean(0), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("names", [("squares",), ("linear", "quartic"), FULL], ids=str)
def test_score_matching_by_autograd_has_its_minimum_there(d, names):
    data = gaussian_data((d,))
    module, extras = fitted(ExponentialFamily(statistics=names), data)
    (slope,) = torch.autograd.grad(score_matching(module, data), module.theta)
    torch.testing.assert_close(slope, torch.zeros_like(slope), rtol=0, atol=1e-10)
    # `excess` is what the loss is above its minimum.
    least = float(score_matching(module, data).detach())
    with torch.no_grad():
        module.theta.add_(0.1 * torch.randn(module.theta.shape, generator=generator(4)))
    found = ClosedFormScoreMatching().loss(module, data, StepContext(generator(0), extras, 1))
    above = float(score_matching(module, data).detach()) - least
    assert float(found.metrics["excess"]) == pytest.approx(above, rel=1e-9)
    off = module.theta.detach() - extras.optimum
    assert float(found.value.detach()) == pytest.approx(float(off.square().sum()) / 2)


def test_the_objective_score_matching_agrees():
    matching = pytest.importorskip("ebmkit.components.objectives.score_matching")
    data = gaussian_data((2,))
    module, _ = fitted(ExponentialFamily(statistics=FULL), data)
    objective = matching.ScoreMatching()
    value = objective.loss(module, data, StepContext(generator(0), objective.extras((2,), data), 1)).value
    (slope,) = torch.autograd.grad(value, module.theta)
    torch.testing.assert_close(slope, torch.zeros_like(slope), rtol=0, atol=1e-10)


def test_one_step_of_gradient_descent_gets_there():
    data = gaussian_data((2,))
    module, extras = fitted(ExponentialFamily(statistics=FULL), data)
    with torch.no_grad():
        module.theta.zero_()
    objective, descent = ClosedFormScoreMatching(), SGD(lr=1.0).build(module.parameters())
    losses = []
    for step in (1, 2):
        found = objective.loss(module, data[:7], StepContext(generator(0), extras, step))
        found.value.backward()
        descent.step()
        descent.zero_grad()
        losses.append((float(found.value.detach()), float(found.metrics["excess"])))
    assert min(losses[0]) > 0.1
    assert max(losses[1]) < 1e-28


def test_data_that_do_not_tell_statistics_apart_are_refused():
    on_a_line = torch.randn(50, 1, generator=generator(0)).expand(-1, 2).contiguous()
    with pytest.raises(ValueError, match="linearly dependent"):
        fitted(ExponentialFamily(), on_a_line)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("squares", "quadratic"), "already"),
        (("squares", "squares"), "twice"),
        (("squares", "cubic"), "unbounded density"),
        (("linear",), "nothing confines"),
    ],
)
def test_statistics_that_make_no_density_are_refused(names, says):
    with pytest.raises(ValueError, match=says):
        ExponentialFamily(statistics=names)


def test_a_model_without_statistics_is_refused():
    spec = {
        "ebmkit": 1,
        "data": "two_moons",
        "model": "mlp",
        "objective": "closed_form_score_matching",
        "train": {"steps": 1},
    }
    with pytest.raises(Mistakes, match="needs 'statistics'"):
        load_spec(spec)


@pytest.mark.parametrize("block", [1, 7, 60, 100])
def test_the_closed_form_is_that_of_all_blocks_of_data(block, monkeypatch):
    data = torch.randn(100, 2, generator=generator(0)) @ random_covariance(2, 1) + 0.5
    whole, in_blocks = (_closed_form(data, size, monkeypatch) for size in (1000, block))
    for name in ("optimum", "curvature"):
        torch.testing.assert_close(getattr(in_blocks, name), getattr(whole, name), rtol=1e-10, atol=1e-10)


def _closed_form(data, block, monkeypatch):
    monkeypatch.setattr(exponential_family, "BLOCK", block)
    extras = ClosedFormScoreMatching().extras((2,), data)
    prepare_modules(extras, small_setting(ExponentialFamily(statistics=("linear", "quadratic", "quartic")).build((2,))))
    return extras
