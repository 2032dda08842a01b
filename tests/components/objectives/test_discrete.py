"""Objectives of discrete states against sums over all states, and `fisher_rbm` against second derivatives."""

import math
from itertools import product

import pytest
import torch

from ebmkit.chains.context import StepContext
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.gaussian_rbm import GaussianRBM
from ebmkit.components.models.rbm import RBM
from ebmkit.components.objectives.exact_mle import ExactMLE
from ebmkit.components.objectives.fisher_rbm import FisherRBM
from ebmkit.components.objectives.pseudo_likelihood import PseudoLikelihood
from ebmkit.components.objectives.ratio_matching import RatioMatching
from ebmkit.components.objectives.score_matching import ScoreMatching
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.models.test_rbm import LOW, gaussian, parameters
from tests.components.oracles import generator

EVENTS = [(1,), (2,), (5,), (1, 2, 3)]
both = pytest.mark.parametrize("values", ["binary", "spin"])


def machine(event, values):
    d = math.prod(event)
    upper = torch.randn(d, d, generator=generator(1)).triu(1)
    rows = tuple(map(tuple, (upper + upper.T).tolist()))
    return Boltzmann(
        weights=rows, biases=tuple(torch.randn(d, generator=generator(2)).tolist()), shape=event, values=values
    )


def of(kind, event, values):
    return machine(event, values) if kind == "boltzmann" else RBM(**parameters(event, 3), values=values)


def loss_of(objective, module, x):
    return objective.loss(module, x, StepContext(generator(0), objective.extras(tuple(x.shape[1:]), x), 1)).value


def every_state(event, values):
    return torch.tensor(list(product((LOW[values], 1.0), repeat=math.prod(event)))).view(-1, *event)


def conditionals(module, x, values):
    """p(x_i | rest) of each unit, by dividing probabilities of states of the whole model."""
    states = every_state(tuple(x.shape[1:]), values)
    log_p = (-module(states)).log_softmax(0)
    index = {tuple(row): k for k, row in enumerate(states.flatten(1).tolist())}
    found = []
    for row in x.flatten(1).tolist():
        here = log_p[index[tuple(row)]]
        flips = [[*row[:i], LOW[values] + 1 - row[i], *row[i + 1 :]] for i in range(len(row))]
        found.append(torch.stack([(here - log_p[index[tuple(flip)]]).sigmoid() for flip in flips]))
    return torch.stack(found)


@both
@pytest.mark.parametrize("event", EVENTS, ids=str)
@pytest.mark.parametrize("kind", ["boltzmann", "rbm"])
def test_losses_and_gradients_are_those_of_enumeration(kind, event, values):
    module = of(kind, event, values).build(event)
    states = every_state(event, values)
    x = states[torch.randint(len(states), (9,), generator=generator(3))]
    p = conditionals(module, x, values)
    for objective, expected in (
        (PseudoLikelihood(), -p.log().sum(1).mean()),
        (RatioMatching(), (1 - p).square().sum(1).mean()),
    ):
        found = loss_of(objective, module, x)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
        wanted = list(module.parameters())
        pairs = zip(
            torch.autograd.grad(found, wanted, retain_graph=True),
            torch.autograd.grad(expected, wanted, retain_graph=True),
            strict=True,
        )
        for one, two in pairs:
            torch.testing.assert_close(one, two, rtol=0, atol=1e-10)


@both
@pytest.mark.parametrize("objective", [PseudoLikelihood(), RatioMatching()], ids=lambda o: o.component_name)
@pytest.mark.parametrize("kind", ["boltzmann", "rbm"])
def test_the_truth_is_their_minimum(kind, objective, values):
    """With every state weighted by its probability, the gradient at the truth is zero; elsewhere the loss is larger."""
    module = of(kind, (4,), values).build((4,))
    states = every_state((4,), values)
    with torch.no_grad():
        p = (-module(states)).softmax(0)

    def population():
        return sum(weight * loss_of(objective, module, x[None]) for weight, x in zip(p, states, strict=True))

    least = population()
    for slope in torch.autograd.grad(least, list(module.parameters())):
        assert float(slope.abs().max()) < 1e-12
    with torch.no_grad():
        for k, parameter in enumerate(module.parameters()):
            change = 0.1 * torch.randn(parameter.shape, generator=generator(10 + k))
            parameter += change
            assert population() > least
            parameter -= change


@both
@pytest.mark.parametrize("event", [(4,), (1, 3, 6)], ids=str)
def test_exact_likelihood_of_an_rbm_by_either_way(event, values):
    """Up to sixteen visible units by their enumeration, beyond by that of the hidden ones."""
    module = RBM(**parameters(event, 3), values=values).build(event)
    x = torch.randint(2, (6, *event), generator=generator(1)).double()
    x = x if values == "binary" else 2 * x - 1
    expected = module(x).mean() + module.log_z()
    found = loss_of(ExactMLE(), module, x)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    wanted = list(module.parameters())
    for one, two in zip(torch.autograd.grad(found, wanted), torch.autograd.grad(expected, wanted), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-10)


def second_derivatives(module, x):
    """1/2 |s|^2 + tr ds/dx by differentiating the free energy twice."""
    total = 0.0
    for row in x:
        point = row[None].clone().requires_grad_()
        (slope,) = torch.autograd.grad(module(point).sum(), point, create_graph=True)
        trace = sum(
            torch.autograd.grad(slope.flatten()[i], point, create_graph=True)[0].flatten()[i]
            for i in range(slope.numel())
        )
        total = total + slope.square().sum() / 2 - trace
    return total / len(x)


@both
@pytest.mark.parametrize(("event", "hidden"), [((1,), 2), ((2,), 3), ((10,), 4), ((1, 2, 3), 2)], ids=str)
def test_fisher_is_score_matching_of_the_free_energy(event, hidden, values):
    module = gaussian(event, hidden, values, learn_std=True).build(event)
    x = 1.5 * torch.randn(5, *event, generator=generator(4))
    found, expected, other = (
        loss_of(FisherRBM(), module, x),
        second_derivatives(module, x),
        loss_of(ScoreMatching(), module, x),
    )
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(found, other, rtol=0, atol=1e-10)
    wanted = list(module.parameters())
    assert len(wanted) == 4
    slopes = [torch.autograd.grad(loss, wanted) for loss in (found, expected)]
    for one, two in zip(*slopes, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-10)


def test_the_printed_formula_of_unit_width():
    """`1/2 |W rho + b - v|^2 + sum_j rho'_j |W_j|^2 - m`, which is right where the lecture is not."""
    model = GaussianRBM(**parameters((4,), 3))
    module = model.build((4,))
    W, b, c = (torch.tensor(t) for t in (model.weights, model.visible_biases, model.hidden_biases))
    v = torch.randn(6, 4, generator=generator(1))
    rho = (v @ W + c).sigmoid()
    expected = ((rho @ W.T + b - v) ** 2).sum(1) / 2 + (rho * (1 - rho)) @ (W**2).sum(0) - 4
    torch.testing.assert_close(loss_of(FisherRBM(), module, v), expected.mean(), rtol=0, atol=1e-12)


DIGITS = {"use": "digits", "binarize": "binary"}
TRAIN = {"train": {"steps": 1}}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"data": "two_moons", "model": "mlp", "objective": "fisher_rbm", **TRAIN}, "needs 'hidden'"),
        ({"data": DIGITS, "model": "rbm", "objective": "fisher_rbm", **TRAIN}, "needs real states"),
        ({"data": "two_moons", "model": "mlp", "objective": "pseudo_likelihood", **TRAIN}, "needs 'conditionals'"),
        (
            {"data": "digits", "model": "gaussian_rbm", "objective": "ratio_matching", **TRAIN},
            "needs binary, categorical or spin",
        ),
        ({"data": DIGITS, "model": "rbm", "objective": "exact_mle", **TRAIN}, "needs a model with 'log_z'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(spec, says):
    with pytest.raises(Mistakes) as caught:
        load_spec({"ebmkit": 1, **spec})
    assert says in str(caught.value)
