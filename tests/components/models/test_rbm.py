"""`rbm` and `gaussian_rbm` against sums over all states of both layers, in float64."""

import math
from itertools import product

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.chains.energy import frozen
from ebmkit.chains.joint import JointEnergy
from ebmkit.components.models.gaussian_rbm import GaussianRBM
from ebmkit.components.models.rbm import RBM
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from ebmkit.testing import check_component
from tests.components.oracles import assert_mean, generator
from tests.statistics.transitions import number, rows, stationary_error

LOW = {"binary": 0.0, "spin": -1.0}
both = pytest.mark.parametrize("values", ["binary", "spin"])
#: Visible shapes and numbers of hidden units: either layer is the smaller one.
SHAPES = [((1,), 1), ((2,), 4), ((5,), 3), ((1, 2, 2), 2)]
shapes = pytest.mark.parametrize(("event", "hidden"), SHAPES, ids=str)


def table(*shape, seed, scale=1.0):
    return scale * torch.randn(*shape, generator=generator(seed))


def nested(numbers):
    return tuple(map(tuple, numbers.tolist())) if numbers.dim() == 2 else tuple(numbers.tolist())


def parameters(event, hidden, seed=0, scale=1.5):
    d = math.prod(event)
    return {
        "weights": nested(table(d, hidden, seed=seed, scale=scale)),
        "visible_biases": nested(table(d, seed=seed + 1)),
        "hidden_biases": nested(table(hidden, seed=seed + 2)),
        "shape": event,
    }


def layer(units, values):
    return torch.tensor(list(product((LOW[values], 1.0), repeat=units))).view(-1, units)


def joint_states(event, hidden, values):
    """All states of both layers, v first, and their energies by the formula."""
    v, h = layer(math.prod(event), values), layer(hidden, values)
    return torch.cat([v.repeat_interleave(len(h), 0), h.repeat(len(v), 1)], 1)


def energy_by_hand(model, units):
    W, b, c = (torch.tensor(x) for x in (model.weights, model.visible_biases, model.hidden_biases))
    v, h = units[:, : len(b)], units[:, len(b) :]
    return torch.stack([-(b @ x) - c @ y - x @ W @ y for x, y in zip(v, h, strict=True)])


@both
@shapes
def test_free_energy_and_normaliser_are_sums_over_all_states(event, hidden, values):
    model = RBM(**parameters(event, hidden), values=values)
    module, units = model.build(event), joint_states(event, hidden, values)
    energy = energy_by_hand(model, units)
    torch.testing.assert_close(module.joint_energy(units), energy, rtol=0, atol=1e-12)
    v = layer(math.prod(event), values).view(-1, *event)
    free = -(-energy).view(len(v), -1).logsumexp(1)
    torch.testing.assert_close(module(v), free, rtol=0, atol=1e-12)
    assert module.log_z().item() == pytest.approx(float((-energy).logsumexp(0)), abs=1e-12)
    value, slope = module.energy_and_grad(v)
    torch.testing.assert_close(value, free, rtol=0, atol=1e-12)
    point = v.clone().requires_grad_()
    (by_autograd,) = torch.autograd.grad(module(point).sum(), point)
    torch.testing.assert_close(slope, by_autograd, rtol=0, atol=1e-12)


@both
@shapes
def test_the_gradient_of_the_likelihood_is_data_minus_model(event, hidden, values):
    model = RBM(**parameters(event, hidden), values=values)
    module, units = model.build(event), joint_states(event, hidden, values)
    p, d = (-energy_by_hand(model, units)).softmax(0), math.prod(event)
    x = layer(d, values)[torch.randint(2**d, (7,), generator=generator(5))]
    (module(x.view(-1, *event)).mean() + module.log_z()).backward()
    v, h = units[:, :d], units[:, d:]

    def means(weight):
        """v h', v and h under weights of the joint states."""
        return [torch.einsum("n,ni,nj->ij", weight, v, h), weight @ v, weight @ h]

    given = [p * (v == row).all(1) for row in x]
    data = [torch.stack(each).mean(0) for each in zip(*(means(weight / weight.sum()) for weight in given), strict=True)]
    for parameter, of_data, of_model in zip(module.parameters(), data, means(p), strict=True):
        torch.testing.assert_close(parameter.grad, of_model - of_data, rtol=0, atol=1e-10)


@both
@shapes
def test_conditionals_of_visible_units_are_ratios_of_the_marginal(event, hidden, values):
    model = RBM(**parameters(event, hidden), values=values)
    module, d = model.build(event), math.prod(event)
    v = layer(d, values)
    log_p = (-energy_by_hand(model, joint_states(event, hidden, values))).view(len(v), -1).logsumexp(1)
    for i in range(d):
        low, high = v.clone(), v.clone()
        low[:, i], high[:, i] = LOW[values], 1.0
        expected = log_p[number(high, v)] - log_p[number(low, v)]
        found = module.log_odds(v.view(-1, *event), torch.tensor([i]))[:, 0]
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


# Gibbs on the joint space ---------------------------------------------------------------------------------------------


def joint_matrix(sampler, module, states, temperature=None):
    """Of a step from every joint state; `temperature` is that of a heated energy."""

    def run(rng):
        with frozen(module) as energy:
            joint = JointEnergy(energy)
            hot = joint if temperature is None else joint.at(torch.full((len(states),), temperature))
            return number(sampler.step(hot, sampler.init(hot, states.clone(), rng), rng)[0].x, states)

    return rows(run, chains=len(states), states=len(states))


def kernel(pi, states, block):
    """The textbook's: units of the block are drawn from pi given all others."""
    others = states.clone()
    others[:, block] = 0
    _, group = others.unique(dim=0, return_inverse=True)
    same = group.unsqueeze(0) == group.unsqueeze(1)
    return same * pi / (same * pi).sum(1, keepdim=True)


@both
@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("scan", ["block", pytest.param("fixed", marks=pytest.mark.long)])  # a minute for all
def test_sweeps_are_products_of_exact_draws(values, temperature, scan):
    model = RBM(**parameters((3,), 2), values=values)
    module, states = model.build((3,)), joint_states((3,), 2, values)
    pi = (-energy_by_hand(model, states) / temperature).softmax(0)
    P = joint_matrix(Gibbs(scan=scan, temperature=temperature), module, states)
    assert stationary_error(P, pi) < 1e-12
    blocks = [[0, 1, 2], [3, 4]] if scan == "block" else [[k] for k in range(5)]
    expected = torch.eye(len(pi))
    for block in blocks:
        expected = expected @ kernel(pi, states, block)
    torch.testing.assert_close(P, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(joint_matrix(Gibbs(scan=scan), module, states, temperature), P, rtol=0, atol=1e-12)


@both
def test_a_random_scan_keeps_the_joint_law(values):
    model = RBM(**parameters((1,), 2), values=values)
    module, states = model.build((1,)), joint_states((1,), 2, values)
    pi = (-energy_by_hand(model, states)).softmax(0)
    P = joint_matrix(Gibbs(scan="random"), module, states)
    one = torch.stack([kernel(pi, states, [k]) for k in range(3)]).mean(0)
    torch.testing.assert_close(P, torch.linalg.matrix_power(one, 3), rtol=0, atol=1e-12)


@both
@pytest.mark.parametrize("tempered", [False, True])
def test_chains_keep_the_visible_law(values, tempered):
    """From exact draws; inside parallel tempering replicas are joint states, and the cold ones keep the marginal."""
    module = RBM(**parameters((1, 2, 2), 3, scale=1.0), values=values).build((1, 2, 2)).requires_grad_(False)
    v = layer(4, values)
    p = (-module(v.view(-1, 1, 2, 2))).softmax(0)
    inner = Gibbs(steps=2)
    sampler = ParallelTempering(steps=3, sampler=inner, temperatures=(1.0, 2.0, 4.0)) if tempered else Gibbs(steps=3)
    start = module.sample_exact(20_000, generator(1))
    x = run_chain(sampler, module, start, generator(2)).x.flatten(1)
    assert_mean(x, p @ v)
    assert_mean(x[:, :3] * x[:, 1:], p @ (v[:, :3] * v[:, 1:]))


# Real visible units ---------------------------------------------------------------------------------------------------


def gaussian(event, hidden, values, **more):
    std = tuple((0.5 + table(math.prod(event), seed=9).abs()).tolist())
    return GaussianRBM(**parameters(event, hidden), std=std, values=values, **more)


def gaussian_energy(model, v, h):
    W, b, c, std = (torch.tensor(x) for x in (model.weights, model.visible_biases, model.hidden_biases, model.std))
    quadratic = torch.stack([((x - b) ** 2 / (2 * std**2)).sum() for x in v])
    return quadratic - h @ c - torch.stack([(x / std) @ W @ y for x, y in zip(v, h, strict=True)])


@both
@shapes
def test_the_free_energy_of_real_units_is_a_sum_over_hidden_ones(event, hidden, values):
    model = gaussian(event, hidden, values)
    module, d = model.build(event), math.prod(event)
    v, h = 2 * table(6, d, seed=3), layer(hidden, values)
    units = torch.cat([v.repeat_interleave(len(h), 0), h.repeat(len(v), 1)], 1)
    energy = gaussian_energy(model, units[:, :d], units[:, d:])
    torch.testing.assert_close(module.joint_energy(units), energy, rtol=0, atol=1e-12)
    x = v.view(-1, *event)
    torch.testing.assert_close(module(x), -(-energy).view(6, -1).logsumexp(1), rtol=0, atol=1e-12)
    point = x.clone().requires_grad_()
    (by_autograd,) = torch.autograd.grad(module(point).sum(), point)
    torch.testing.assert_close(module.energy_and_grad(x)[1], by_autograd, rtol=0, atol=1e-12)
    torch.testing.assert_close(module.score(v)[0].view_as(x), -by_autograd, rtol=0, atol=1e-12)


@both
@pytest.mark.parametrize("learn", [False, True])
def test_the_normaliser_of_real_units_is_the_integral(values, learn):
    """The trapezoidal rule on a line is exact to rounding; its gradient is that of the likelihood."""
    model = gaussian((1,), 3, values, learn_std=learn)
    module = model.build((1,))
    grid = torch.linspace(-25, 25, 40_001).unsqueeze(1)
    by_rule = (-module(grid)).logsumexp(0) + math.log(50 / 40_000)
    assert module.log_z().item() == pytest.approx(by_rule.item(), abs=1e-12)
    wanted = [p for p in module.parameters() if p.requires_grad]
    assert len(wanted) == 3 + learn
    assert sum(p.numel() for p in wanted) == model.parameter_count((1,))
    for one, two in zip(torch.autograd.grad(module.log_z(), wanted), torch.autograd.grad(by_rule, wanted), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-10)


@both
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_layers_given_each_other(values, temperature):
    """Draws of v have the mean and the spread of the conditional density, and h the odds of the energy."""
    model = gaussian((3,), 2, values)
    module = model.build((3,)).requires_grad_(False)
    W, b, std = torch.tensor(model.weights), torch.tensor(model.visible_biases), torch.tensor(model.std)
    h, v = torch.tensor([[1.0, LOW[values]]]), 0.3 * table(1, 3, seed=4)
    units = torch.cat([v, h], 1).expand(40_000, -1)
    drawn = module.draw_units(units, module.visible, temperature, generator(1))
    mean, variance = b + std * (W @ h[0]), temperature * std**2
    assert_mean(drawn, mean)
    assert_mean((drawn - mean) ** 2, variance)
    some = torch.tensor([2, 0])
    assert_mean(module.draw_units(units, some, temperature, generator(2)), mean[some])
    odds = [gaussian_energy(model, v, torch.tensor([[LOW[values], LOW[values]]]))]
    for j in range(2):
        other = torch.full((1, 2), LOW[values])
        other[0, j] = 1.0
        odds.append(gaussian_energy(model, v, other))
    p = ((odds[0] - torch.cat(odds[1:])) / temperature).sigmoid()
    expected = LOW[values] + (1 - LOW[values]) * p
    assert_mean(module.draw_units(units, module.hidden, temperature, generator(3)), expected)
    assert_mean(module.draw_units(units, module.hidden[1:].clone(), temperature, generator(4)), expected[1:])


@both
def test_chains_on_real_units_keep_the_mixture(values):
    module = gaussian((2,), 2, values).build((2,)).requires_grad_(False)
    start, fresh = (module.sample_exact(20_000, generator(seed)) for seed in (1, 2))
    for sampler in (Gibbs(steps=3), ParallelTempering(steps=2, sampler=Gibbs(steps=2), temperatures=(1.0, 3.0))):
        x = run_chain(sampler, module, start, generator(3)).x
        for one, two in ((x, fresh), (x**2, fresh**2), (x[:, :1] * x[:, 1:], fresh[:, :1] * fresh[:, 1:])):
            error = (one.var(0) / len(one) + two.var(0) / len(two)).sqrt()
            assert float(((one.mean(0) - two.mean(0)) / error).abs().max()) < 5.5


# What they offer, and what is refused ---------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("kind", [RBM, GaussianRBM])
def test_small_machines_obey_the_laws(kind, values):
    check_component(kind(hidden=3, values=values))


def test_what_they_offer_follows_from_their_parameters():
    exact = {"log_z", "sample_exact"}
    assert not exact & RBM().traits().offers
    assert exact <= GaussianRBM(hidden=20).traits().offers
    assert exact & GaussianRBM(hidden=21, shape=(2,)).traits().offers == {"log_z"}
    assert not exact & GaussianRBM(hidden=31, shape=(2,)).traits().offers
    assert (RBM(values="spin").traits().space, GaussianRBM(values="spin").traits().space) == ("spin", "real")


@both
@pytest.mark.parametrize(("event", "hidden"), [((1,), 1), ((2,), 4), ((10,), 5), ((1, 4, 4), 6)], ids=str)
def test_the_normaliser_of_pairs_of_hidden_units_is_that_of_their_states(event, hidden, values):
    """A row for each state of the hidden layer, of which half the units are taken at a time."""
    module = gaussian(event, hidden, values, learn_std=True).build(event)
    h = layer(hidden, values)
    whole = (h @ module.hidden_biases + module.log_sum_visible(h @ module.weights.T)).logsumexp(0)
    by_halves = module.log_z()
    assert by_halves.item() == pytest.approx(whole.item(), abs=1e-12 * max(1, abs(whole.item())))
    wanted = list(module.parameters())
    for one, two in zip(torch.autograd.grad(by_halves, wanted), torch.autograd.grad(whole, wanted), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-10, atol=1e-10)


def test_halves_of_the_hidden_layer_are_summed_in_blocks(monkeypatch):
    monkeypatch.setattr("ebmkit.components.models.nets.gaussian_rbm.BLOCK", 8)
    test_the_normaliser_of_pairs_of_hidden_units_is_that_of_their_states((10,), 5, "spin")


@pytest.mark.parametrize(
    ("kind", "wrong", "says"),
    [
        (RBM, {"weights": ((1.0, 2.0), (3.0,))}, "'weights': row 1 has 1 numbers, but there are 2 hidden units"),
        (RBM, {"weights": ((1.0, 2.0),), "hidden": 3}, "row 0 has 2 numbers, but there are 3 hidden units"),
        (RBM, {"weights": ((1.0,),), "shape": (2,)}, "'weights' has 1 rows, but there are 2 visible units"),
        (RBM, {"visible_biases": (1.0,), "shape": (2,)}, "'visible_biases' has 1 numbers, but there are 2 visible"),
        (RBM, {"hidden_biases": (1.0,), "hidden": 2}, "'hidden_biases' has 1 numbers, but there are 2 hidden units"),
        (GaussianRBM, {"std": (1.0, 2.0), "weights": ((1.0,),)}, "'std' has 2 numbers, but there are 1 visible units"),
    ],
)
def test_what_is_no_machine_is_refused(kind, wrong, says):
    with pytest.raises(ValueError, match=says):
        kind(**wrong)


TRAIN = {"objective": {"use": "mle", "sampler": "gibbs"}, "train": {"steps": 1}}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"data": "digits", "model": "rbm", **TRAIN}, "data 'digits' has real states, but model 'rbm' has binary"),
        ({"model": {"use": "rbm", "shape": [4]}, "sampler": "langevin"}, "needs real states"),
        ({"model": {"use": "rbm", "shape": [30], "hidden": 30}, "sampler": "exact"}, "needs 'sample_exact'"),
        ({"model": {"use": "mlp"}, "data": "two_moons", "sampler": "gibbs"}, "needs 'blocks'"),
        ({"model": {"use": "gaussian_rbm", "shape": [2], "std": 0}, "sampler": "gibbs"}, "greater than 0"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(spec, says):
    with pytest.raises(Mistakes) as caught:
        load_spec({"ebmkit": 1, **spec})
    assert says in str(caught.value)
