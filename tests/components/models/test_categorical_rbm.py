"""`categorical_rbm` against sums over all states of both layers, in float64."""

import math
from itertools import product

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import frozen
from ebmkit.chains.joint import JointEnergy
from ebmkit.chains.one_hot import one_hot
from ebmkit.components.models.categorical_rbm import CategoricalRBM
from ebmkit.components.models.rbm import RBM
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.gibbs_with_gradients import GibbsWithGradients
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.testing import check_component
from tests.components.models.test_categorical import every_state, nested, table
from tests.components.models.test_rbm import joint_matrix, kernel, layer
from tests.components.oracles import assert_mean, generator
from tests.statistics.transitions import stationary_error, transition_matrix

both = pytest.mark.parametrize("values", ["binary", "spin"])
#: Visible shapes, numbers of categories and of hidden units.
SHAPES = [((1,), 5, 1), ((2,), 3, 3), ((4,), 2, 2), ((1, 2, 2), 3, 2)]
shapes = pytest.mark.parametrize(("event", "categories", "hidden"), SHAPES, ids=str)


def machine(event, categories, hidden, values):
    d = math.prod(event)
    return CategoricalRBM(
        categories=categories,
        weights=nested(1.5 * table(d * categories, hidden, seed=1)),
        visible_biases=nested(table(d, categories, seed=2)),
        hidden_biases=nested(table(hidden, seed=3)),
        shape=event,
        values=values,
    )


def joint_states(event, categories, hidden, values):
    v, h = every_state(event, categories).flatten(1), layer(hidden, values)
    return torch.cat([v.repeat_interleave(len(h), 0), h.repeat(len(v), 1)], 1)


def energy_by_hand(model, units):
    """Unit by unit."""
    W = torch.tensor(model.weights).view(-1, model.categories, model.hidden_units)
    b, c = torch.tensor(model.visible_biases), torch.tensor(model.hidden_biases)
    found = []
    for row in units:
        v, h = row[: len(b)].long().tolist(), row[len(b) :]
        found.append(-sum(b[i, k] + W[i, k] @ h for i, k in enumerate(v)) - c @ h)
    return torch.stack(found)


@both
@shapes
def test_free_energy_and_normaliser_are_sums_over_all_states(event, categories, hidden, values):
    model = machine(event, categories, hidden, values)
    module, units = model.build(event), joint_states(event, categories, hidden, values)
    energy = energy_by_hand(model, units)
    torch.testing.assert_close(module.joint_energy(units), energy, rtol=0, atol=1e-12)
    v = every_state(event, categories)
    free = -(-energy).view(len(v), -1).logsumexp(1)
    torch.testing.assert_close(module(v), free, rtol=0, atol=1e-12)
    assert module.log_z().item() == pytest.approx(float((-energy).logsumexp(0)), abs=1e-12)
    hot = one_hot(v, categories).requires_grad_()
    (by_autograd,) = torch.autograd.grad(module.one_hot_energy(hot).sum(), hot)
    value, slope = module.energy_and_grad(v)
    torch.testing.assert_close(value, free, rtol=0, atol=1e-12)
    torch.testing.assert_close(slope, by_autograd, rtol=0, atol=1e-12)
    for i in range(math.prod(event)):
        odds = module.log_odds(v, torch.tensor([i]))[:, 0].log_softmax(1)
        each = []
        for k in range(categories):
            changed = v.flatten(1).clone()
            changed[:, i] = k
            each.append(-module(changed.view_as(v)))
        torch.testing.assert_close(odds, torch.stack(each, 1).log_softmax(1), rtol=0, atol=1e-12)


@both
@shapes
def test_the_gradient_of_the_likelihood_is_data_minus_model(event, categories, hidden, values):
    model = machine(event, categories, hidden, values)
    module, units = model.build(event), joint_states(event, categories, hidden, values)
    p, d = (-energy_by_hand(model, units)).softmax(0), math.prod(event)
    x = every_state(event, categories).flatten(1)
    x = x[torch.randint(len(x), (7,), generator=generator(5))]
    (module(x.view(-1, *event)).mean() + module.log_z()).backward()
    u, h = one_hot(units[:, :d], categories).flatten(1), units[:, d:]

    def means(weight):
        return [torch.einsum("n,ni,nj->ij", weight, u, h), weight @ u, weight @ h]

    given = [p * (units[:, :d] == row).all(1) for row in x]
    data = [torch.stack(each).mean(0) for each in zip(*(means(weight / weight.sum()) for weight in given), strict=True)]
    for parameter, of_data, of_model in zip(module.parameters(), data, means(p), strict=True):
        torch.testing.assert_close(parameter.grad, of_model - of_data, rtol=0, atol=1e-10)


@both
@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("scan", ["block", "fixed"])
def test_sweeps_are_products_of_exact_draws(values, temperature, scan):
    hidden = 2 if scan == "block" else 1  # every outcome of every draw is gone through
    model = machine((2,), 3, hidden, values)
    module, states = model.build((2,)), joint_states((2,), 3, hidden, values)
    pi = (-energy_by_hand(model, states) / temperature).softmax(0)
    P = joint_matrix(Gibbs(scan=scan, temperature=temperature), module, states)
    assert stationary_error(P, pi) < 1e-12
    expected = torch.eye(len(pi))
    for block in [[0, 1], [2, 3]] if scan == "block" else [[0], [1], [2]]:
        expected = expected @ kernel(pi, states, block)
    torch.testing.assert_close(P, expected, rtol=0, atol=1e-12)
    if scan == "block":
        torch.testing.assert_close(joint_matrix(Gibbs(), module, states, temperature), P, rtol=0, atol=1e-12)


@both
def test_gradients_of_the_free_energy_propose(values):
    module, states = machine((2,), 3, 2, values).build((2,)), every_state((2,), 3)
    P = transition_matrix(GibbsWithGradients(), module, states)
    assert stationary_error(P, (-module(states)).softmax(0).detach()) < 1e-12


@both
@pytest.mark.parametrize("tempered", [False, True])
def test_chains_keep_the_visible_law(values, tempered):
    module = machine((1, 2, 2), 3, 3, values).build((1, 2, 2)).requires_grad_(False)
    v = every_state((1, 2, 2), 3)
    p = (-module(v)).softmax(0)
    inner = Gibbs(steps=2)
    sampler = ParallelTempering(steps=3, sampler=inner, temperatures=(1.0, 2.0, 4.0)) if tempered else Gibbs(steps=3)
    x = run_chain(sampler, module, module.sample_exact(20_000, generator(1)), generator(2)).x
    hot = one_hot(v.flatten(1), 3)
    assert_mean(one_hot(x.flatten(1), 3), torch.einsum("n,nik->ik", p, hot))
    pairs = (hot[:, :3, :, None] * hot[:, 1:, None, :]).flatten(1)
    of_x = one_hot(x.flatten(1), 3)
    assert_mean((of_x[:, :3, :, None] * of_x[:, 1:, None, :]).flatten(1), p @ pairs)


def test_two_categories_are_the_machine_of_two_values():
    """Hidden units are the same; a visible unit of 0 has no weights."""
    W, b, c = table(3, 2, seed=1), table(3, seed=2), table(2, seed=3)
    rows = torch.stack([torch.zeros(3, 2), W], 1).view(6, 2)
    fields = torch.stack([torch.zeros(3), b], 1)
    one = CategoricalRBM(categories=2, weights=nested(rows), visible_biases=nested(fields), hidden_biases=nested(c))
    module = one.build((3,))
    v = every_state((3,), 2)
    h = torch.tensor(list(product((0.0, 1.0), repeat=2)))
    two = RBM(weights=nested(W), visible_biases=nested(b), hidden_biases=nested(c)).build((3,))
    torch.testing.assert_close(module(v), two(v), rtol=0, atol=1e-12)
    assert module.log_z().item() == pytest.approx(two.log_z().item(), abs=1e-12)
    odds = module.log_odds(v, torch.arange(3))
    torch.testing.assert_close(odds[..., 1] - odds[..., 0], two.log_odds(v, torch.arange(3)), rtol=0, atol=1e-12)
    units = torch.cat([v.repeat_interleave(len(h), 0), h.repeat(len(v), 1)], 1)
    with frozen(module) as a, frozen(two) as other:
        torch.testing.assert_close(JointEnergy(a)(units), JointEnergy(other)(units), rtol=0, atol=1e-12)


@both
def test_it_obeys_the_laws(values):
    check_component(CategoricalRBM(hidden=3, values=values))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"weights": ((1.0,),)}, "'weights' needs 'shape' or 'visible_biases'"),
        ({"weights": ((1.0,),) * 5, "shape": (2,)}, "'weights' has 5 rows, but 2 visible units of 3 categories need 6"),
        ({"weights": ((1.0,),) * 6, "shape": (2,), "hidden": 2}, "row 0 has 1 numbers, but there are 2 hidden units"),
        ({"visible_biases": ((1.0, 2.0),)}, "'visible_biases': row 0 has 2 numbers, but there are 3 categories"),
        ({"visible_biases": ((1.0,) * 3,), "shape": (2,)}, "'visible_biases' has 1 rows, but there are 2 units"),
        ({"hidden_biases": (1.0,), "hidden": 2}, "'hidden_biases' has 1 numbers, but there are 2 hidden units"),
    ],
)
def test_what_is_no_machine_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        CategoricalRBM(**wrong)
