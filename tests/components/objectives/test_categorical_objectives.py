"""Objectives of categorical states against sums over all states."""

import pytest
import torch

from ebmkit.chains.context import StepContext
from ebmkit.chains.one_hot import one_hot
from ebmkit.components.inits.data import DataStart
from ebmkit.components.models.categorical_boltzmann import CategoricalBoltzmann
from ebmkit.components.objectives.exact_mle import ExactMLE
from ebmkit.components.objectives.mle import MLE
from ebmkit.components.objectives.pseudo_likelihood import PseudoLikelihood
from ebmkit.components.objectives.ratio_matching import RatioMatching
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.contracts.question import Question
from tests.components.models.test_categorical import SMALL, binary_pair, every_state, model_of
from tests.components.objectives.test_discrete import loss_of
from tests.components.oracles import assert_mean, generator

small = pytest.mark.parametrize(("event", "categories"), SMALL, ids=str)


def conditionals(module, states, categories):
    """p(x_i = k | rest) of all states, `(N, d, K)`, by dividing sums of probabilities; differentiable."""
    p = (-module(states)).softmax(0)
    flat, found = states.flatten(1), []
    for i in range(flat.shape[1]):
        others = flat.clone()
        others[:, i] = -1
        _, group = others.unique(dim=0, return_inverse=True)
        mass = torch.zeros(int(group.max()) + 1, categories).index_put((group, flat[:, i].long()), p, accumulate=True)
        found.append((mass / mass.sum(1, keepdim=True))[group])
    return torch.stack(found, 1)


@small
def test_losses_and_gradients_are_those_of_enumeration(event, categories):
    module, states = model_of("machine", event, categories).build(event), every_state(event, categories)
    chosen = torch.randint(len(states), (9,), generator=generator(3))
    x = states[chosen]
    p = conditionals(module, states, categories)[chosen]
    hot = one_hot(x.flatten(1), categories)
    energies = -module(states)
    for objective, expected in (
        (PseudoLikelihood(), -(hot * p.log()).sum((1, 2)).mean()),
        (RatioMatching(), (hot - p).square().sum((1, 2)).mean() / 2),
        (ExactMLE(), energies.logsumexp(0) - energies[chosen].mean()),
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


@pytest.mark.parametrize("objective", [PseudoLikelihood(), RatioMatching()], ids=lambda o: o.component_name)
def test_the_truth_is_their_minimum(objective):
    module, states = model_of("machine", (2,), 3).build((2,)), every_state((2,), 3)
    p = (-module(states)).softmax(0).detach()

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


@pytest.mark.parametrize("objective", [PseudoLikelihood(), RatioMatching(), ExactMLE()], ids=lambda o: o.component_name)
def test_two_categories_have_the_losses_of_two_values(objective):
    two, one = (model.build((4,)) for model in binary_pair(4))
    x = every_state((4,), 2)[::3]
    torch.testing.assert_close(loss_of(objective, one, x), loss_of(objective, two, x), rtol=0, atol=1e-12)


def test_contrastive_divergence_has_the_gradient_of_the_likelihood_on_average():
    """Chains that start in the model's distribution stay in it, so that shares do not change."""
    module, states = model_of("machine", (3,), 3).build((3,)), every_state((3,), 3)
    p = (-module(states)).softmax(0).detach()
    x = states[torch.multinomial(p, 4000, replacement=True, generator=generator(1))]
    objective, seen = MLE(sampler=Gibbs(steps=2), init=DataStart()), []
    for k, batch in enumerate(x.split(100)):
        module.zero_grad()
        context = StepContext(generator(k), objective.extras((3,), batch), 1)
        objective.loss(module, batch, context).value.backward()
        seen.append(module.biases.grad.flatten().clone())
    assert_mean(torch.stack(seen), torch.zeros(9))


def test_what_cannot_be_enumerated_is_refused_with_the_number_of_units_that_could():
    many = ExactMLE().refusal(Question((11,), CategoricalBoltzmann(categories=3)))
    assert many == (
        "needs a model with 'log_z', at most 10 discrete units of 3 values, or at most 2 real coordinates, but a state "
        "has 11 categorical ones"
    )
    assert ExactMLE().refusal(Question((10,), CategoricalBoltzmann(categories=3))) is None
