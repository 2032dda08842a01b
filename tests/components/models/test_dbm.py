"""`dbm` against sums over all states of all layers, in float64."""

import copy
import math
from itertools import pairwise, product

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.components.models.dbm import DBM
from ebmkit.components.models.rbm import RBM
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.parallel_tempering import ParallelTempering
from ebmkit.errors import Mistakes
from ebmkit.experiment import run
from ebmkit.language.load import load_spec
from ebmkit.testing import check_component
from tests.components.models.test_rbm import joint_matrix, kernel
from tests.components.oracles import assert_mean, generator
from tests.statistics.transitions import stationary_error

LOW = {"binary": 0.0, "spin": -1.0}
both = pytest.mark.parametrize("values", ["binary", "spin"])
#: Visible shapes and hidden layers: layers of odd and of even number are fewer in some, and d = 1.
SHAPES = [
    ((1,), (1, 1)),
    ((2,), (4, 3)),
    ((3,), (3, 2)),
    ((1, 2, 2), (2, 4, 1)),
    ((2,), (3, 1, 2)),
    ((1,), (1, 2, 1, 2)),
]
shapes = pytest.mark.parametrize(("event", "hidden"), SHAPES, ids=str)


def built(event, hidden, values, seed=0, scale=1.0, **more):
    module = DBM(hidden=hidden, values=values, **more).build(event).double()
    with torch.no_grad():
        for number, weights in enumerate(module.parameters()):
            weights.copy_(scale * torch.randn(weights.shape, generator=generator(seed + number)))
    return module


def states(units, values):
    return torch.tensor(list(product((LOW[values], 1.0), repeat=units)), dtype=torch.float64).view(-1, units)


def parameters(module):
    """W_1, ..., W_L and b_0, ..., b_L as the whole has them."""
    singles = [layer.single for layer in module.layers]
    between = [(low.hidden_biases + high.visible_biases) / 2 for low, high in pairwise(singles)]
    biases = [singles[0].visible_biases, *between, singles[-1].hidden_biases]
    return [single.weights for single in singles], biases


def energy_by_hand(module, units):
    """The formula, through one large matrix."""
    weights, biases = parameters(module)
    sizes = [len(bias) for bias in biases]
    first = [sum(sizes[:k]) for k in range(len(sizes))]
    W = torch.zeros(sum(sizes), sum(sizes))
    for k, weight in enumerate(weights):
        W[first[k] : first[k] + sizes[k], first[k + 1] : first[k + 1] + sizes[k + 1]] = weight
    return -torch.einsum("ni,ij,nj->n", units, W, units) - units @ torch.cat(biases)


def joint_states(module, event, values):
    return states(math.prod(event) + module.hidden_units, values)


@both
@shapes
def test_energies_and_the_normaliser_are_sums_over_all_states(event, hidden, values):
    module = built(event, hidden, values)
    units, d = joint_states(module, event, values), math.prod(event)
    energy = energy_by_hand(module, units)
    torch.testing.assert_close(module.joint_energy(units), energy, rtol=0, atol=1e-12)
    free = -(-energy).view(2**d, -1).logsumexp(1)
    torch.testing.assert_close(module(states(d, values).view(-1, *event)), free, rtol=0, atol=1e-12)
    torch.testing.assert_close(module.log_z(), (-energy).logsumexp(0), rtol=0, atol=1e-12)


def test_energies_in_blocks_are_those_at_once(monkeypatch):
    for hidden in ((3, 4), (5, 2)):
        module, x = built((2,), hidden, "spin"), states(2, "spin")
        whole = [module(x), module.log_z()]
        slopes = torch.autograd.grad(whole[0].sum() + whole[1], list(module.parameters()))
        monkeypatch.setattr("ebmkit.components.models.nets.rowwise.BLOCK", 20)
        parts = [module(x), module.log_z()]
        torch.testing.assert_close(parts, whole, rtol=0, atol=1e-12)
        again = torch.autograd.grad(parts[0].sum() + parts[1], list(module.parameters()))
        torch.testing.assert_close(again, slopes, rtol=0, atol=1e-12)
        monkeypatch.undo()


def moments(module, units, weight):
    """E of h_{k-1}h_k' and of all layers under weights of joint states."""
    _, biases = parameters(module)
    layers = torch.split(units, [len(bias) for bias in biases], 1)
    pairs = [torch.einsum("n,ni,nj->ij", weight, low, high) for low, high in pairwise(layers)]
    return pairs, [weight @ layer for layer in layers]


def gradient_by_hand(module, of_data, of_model):
    """Of -log p, parameter by parameter of the parts: a bias of a layer between two others counts half."""
    (data_pairs, data_means), (model_pairs, model_means) = of_data, of_model
    last, found = len(module.layers) - 1, {}
    for k, layer in enumerate(module.layers):
        low, high = (model_means[j] - data_means[j] for j in (k, k + 1))
        found[layer.single.weights] = model_pairs[k] - data_pairs[k]
        found[layer.single.visible_biases] = low if k == 0 else low / 2
        found[layer.single.hidden_biases] = high if k == last else high / 2
    return found


@both
@shapes
def test_the_gradient_of_the_likelihood_is_data_minus_model(event, hidden, values):
    module, d = built(event, hidden, values), math.prod(event)
    units = joint_states(module, event, values)
    p = (-energy_by_hand(module, units)).softmax(0).detach()
    x = states(d, values)[torch.randint(2**d, (5,), generator=generator(5))]
    (module(x.view(-1, *event)).mean() + module.log_z()).backward()
    given = torch.stack([p * (units[:, :d] == row).all(1) for row in x])
    data = (given / given.sum(1, keepdim=True)).mean(0)
    for parameter, slope in gradient_by_hand(module, moments(module, units, data), moments(module, units, p)).items():
        torch.testing.assert_close(parameter.grad, slope, rtol=0, atol=1e-10)


@both
@shapes
def test_conditionals_of_all_units_are_energy_differences(event, hidden, values):
    module = built(event, hidden, values)
    units = joint_states(module, event, values)
    units = units[torch.randint(len(units), (50,), generator=generator(3))]
    for i in range(units.shape[1]):
        low, high = units.clone(), units.clone()
        low[:, i], high[:, i] = LOW[values], 1.0
        found = module.joint_log_odds(units, torch.tensor([i]))[:, 0]
        torch.testing.assert_close(found, module.joint_energy(low) - module.joint_energy(high), rtol=0, atol=1e-12)
    for block in module.blocks():
        torch.testing.assert_close(
            module.joint_log_odds(units, block), module.joint_log_odds(units, block.clone()), rtol=0, atol=1e-12
        )


@both
@pytest.mark.parametrize("temperature", [1.0, 1.7])
@pytest.mark.parametrize("scan", ["block", "fixed"])
def test_sweeps_are_products_of_exact_draws(values, temperature, scan):
    module = built((1,), (2, 1, 1), values)
    every = joint_states(module, (1,), values)
    pi = (-energy_by_hand(module, every) / temperature).softmax(0).detach()
    P = joint_matrix(Gibbs(scan=scan, temperature=temperature), module, every)
    assert stationary_error(P, pi) < 1e-12
    blocks = [[0, 3], [1, 2, 4]] if scan == "block" else [[k] for k in range(5)]
    expected = torch.eye(len(pi))
    for block in blocks:
        expected = expected @ kernel(pi, every, block)
    torch.testing.assert_close(P, expected, rtol=0, atol=1e-12)
    torch.testing.assert_close(joint_matrix(Gibbs(scan=scan), module, every, temperature), P, rtol=0, atol=1e-12)


@both
@pytest.mark.parametrize("tempered", [False, True])
def test_chains_keep_the_visible_law(values, tempered):
    module = built((1, 2, 2), (3, 2), values).requires_grad_(False)
    x = states(4, values)
    p = (-module(x.view(-1, 1, 2, 2))).softmax(0)
    inner = Gibbs(steps=8)  # hidden units start near their law given x, not at it
    sampler = ParallelTempering(steps=3, sampler=inner, temperatures=(1.0, 2.0)) if tempered else Gibbs(steps=20)
    ends = run_chain(sampler, module, module.sample_exact(20_000, generator(1)), generator(2)).x.flatten(1)
    assert_mean(ends, p @ x)
    assert_mean(ends[:, :3] * ends[:, 1:], p @ (x[:, :3] * x[:, 1:]))


@both
@pytest.mark.parametrize("hidden", [(2, 4), (4, 1)], ids=["odd", "even"])
def test_exact_samples_have_the_probabilities_of_all_states(values, hidden):
    module, n = built((2, 1), hidden, values).requires_grad_(False), 20_000
    x = module.sample_exact(n, generator(1))
    assert x.shape == (n, 2, 1)
    every = states(2, values)
    p = (-module(every.view(-1, 2, 1))).softmax(0)
    assert_mean((x.flatten(1)[:, None] == every).all(2).double(), p)


def products(units):
    """Of one and of two units."""
    return torch.cat([units, torch.stack([units[:, i] * units[:, j] for j in range(5) for i in range(j)], 1)], 1)


@both
def test_hidden_units_start_by_a_pass_upwards_with_twice_the_input(values):
    module, x = built((3,), (2, 2, 1), values).requires_grad_(False), states(3, values)[[5]]
    weights, biases = parameters(module)
    every = states(5, values)
    h1, h2, h3 = torch.split(every, [2, 2, 1], 1)
    fields = [2 * x @ weights[0] + biases[1], 2 * h1 @ weights[1] + biases[2], h2 @ weights[2] + biases[3]]
    log_p = sum(
        (field * h).sum(1) - torch.stack([LOW[values] * field, field]).logsumexp(0).sum(1)
        for field, h in zip(fields, (h1, h2, h3), strict=True)
    )
    assert log_p.exp().sum() == pytest.approx(1)
    drawn = module.draw_hidden(x.expand(20_000, -1), generator(1))
    assert_mean(products(drawn), log_p.exp() @ products(every))


# Mean field -----------------------------------------------------------------------------------------------------------


@both
@shapes
def test_the_bound_is_below_the_likelihood_and_no_pass_lowers_it(event, hidden, values):
    module, v = built(event, hidden, values), states(math.prod(event), values)
    exact = -module(v.view(-1, *event))
    bounds = torch.stack([-module.mean_field_energy(v, passes) for passes in range(40)])
    assert (bounds <= exact + 1e-12).all()
    assert (bounds.diff(dim=0) >= -1e-12).all()
    assert (bounds[-1] - bounds[-2]).abs().max() < 1e-2
    if math.prod(event) > 1:
        assert (bounds[-1] > bounds[0] + 1e-6).any()
    torch.testing.assert_close(-module.posterior_energy(v.view(-1, *event), generator(0)), bounds[10], rtol=0, atol=0)
    log_p = exact - module.log_z()
    of_metric = module.log_bounds(v.view(-1, *event), generator(0))
    assert of_metric.shape == (len(v), 1)
    assert (of_metric[:, 0] <= log_p + 1e-12).all()
    assert (of_metric[:, 0] >= bounds[-1] - module.log_z() - 1e-12).all()


@both
def test_the_bound_and_its_gradient_are_those_of_the_sum_over_independent_units(values):
    """E_q[E] - H(q) over all hidden states, and E_q[dE/dtheta] with q constant."""
    module, d = built((2,), (2, 2, 1), values, passes=3), 2
    v, h = states(d, values), states(5, values)
    fields = torch.cat(list(module.layered().mean_field(v, 3).values()), 1).detach()
    unit = torch.stack([LOW[values] * fields, fields], 2).log_softmax(2)
    is_high = (h > LOW[values]).long()
    log_q = unit[:, torch.arange(5), is_high].sum(2)  # (B, 2^5)
    units = torch.cat([v.repeat_interleave(len(h), 0), h.repeat(len(v), 1)], 1)
    expected = (log_q.exp() * (energy_by_hand(module, units).view(len(v), -1) + log_q)).sum(1)
    found = module.posterior_energy(v, generator(0))
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    wanted = torch.autograd.grad(expected.sum(), list(module.parameters()))
    torch.testing.assert_close(torch.autograd.grad(found.sum(), list(module.parameters())), wanted, rtol=0, atol=1e-12)


@both
def test_a_fixed_point_has_the_means_of_its_neighbours(values):
    module, v = built((3,), (2, 2), values, scale=0.5), states(3, values)
    fields = module.layered().mean_field(v, 200)
    weights, biases = parameters(module)
    low = LOW[values]
    means = {k: low + (1 - low) * torch.sigmoid((1 - low) * field) for k, field in fields.items()}
    torch.testing.assert_close(fields[1], v @ weights[0] + means[2] @ weights[1].T + biases[1], rtol=0, atol=1e-12)
    torch.testing.assert_close(fields[2], means[1] @ weights[1] + biases[2], rtol=0, atol=1e-12)


@both
def test_without_weights_between_hidden_layers_it_is_an_rbm(values):
    module, x = built((1, 2, 2), (3, 2), values), states(4, values).view(-1, 1, 2, 2)
    with torch.no_grad():
        module.layers[1].single.weights.zero_()
    weights, biases = parameters(module)
    rbm = RBM(hidden=3, values=values).build((1, 2, 2)).double()
    with torch.no_grad():
        for parameter, given in zip(rbm.parameters(), (weights[0], biases[0], biases[1]), strict=True):
            parameter.copy_(given)
    log_p = -rbm(x) - rbm.log_z()
    torch.testing.assert_close(-module(x) - module.log_z(), log_p, rtol=0, atol=1e-12)
    torch.testing.assert_close(module.log_bounds(x, generator(0))[:, 0], log_p, rtol=0, atol=1e-12)


# Parts ----------------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("hidden", [(2, 3), (2, 3, 2)], ids=str)
def test_parts_are_machines_of_copies(hidden, values):
    """E of all copies by hand; the copies of a layer have the same weights, of which there is one set to train."""
    module = built((1, 3), hidden, values)
    for number, (part, layer) in enumerate(
        zip(DBM(hidden=hidden, values=values).parts((1, 3)), module.layers, strict=True)
    ):
        assert module.part(part.name) is layer
        W, b, c = layer.single
        below, above = (2 if number == 0 else 1), (2 if number == len(hidden) - 1 else 1)
        strength = 2 if below == above == 1 else 1
        assert part.event == ((2, 1, 3) if number == 0 else (hidden[number - 1],))
        assert math.prod(part.event) == below * len(b)
        assert layer.hidden_units == part.model.hidden_units == above * len(c)
        units = states(math.prod(part.event) + layer.hidden_units, values)
        v, h = units[:, : below * len(b)], units[:, below * len(b) :]
        v, h = v.view(len(units), below, -1).sum(1), h.view(len(units), above, -1).sum(1)
        expected = -v @ b - h @ c - strength * torch.einsum("ni,ij,nj->n", v, W, h)
        torch.testing.assert_close(layer.joint_energy(units), expected, rtol=0, atol=1e-12)
        assert sum(p.numel() for p in layer.parameters()) == W.numel() + b.numel() + c.numel()


@both
def test_parts_see_two_copies_and_hidden_units_with_twice_the_input(values):
    module = built((3,), (2, 2, 1), values, scale=0.4).requires_grad_(False)
    x = states(3, values)[[5]].expand(20_000, -1)
    assert torch.equal(module.seen_by("layer_1", x[:4], generator(0)), torch.stack([x[:4], x[:4]], 1))
    first, second, _ = (layer.single for layer in module.layers)
    h1, low = states(2, values), LOW[values]
    p1 = torch.softmax(h1 @ (2 * x[0] @ first.weights + first.hidden_biases), 0)
    assert_mean((module.seen_by("layer_2", x, generator(1))[:, None] == h1).all(2).double(), p1)
    field = 2 * h1 @ second.weights + second.hidden_biases
    means = low + (1 - low) * torch.sigmoid((1 - low) * field)
    assert_mean(module.seen_by("layer_3", x, generator(2)), p1 @ means)


@both
def test_the_transpose_of_the_lowest_part_is_its_second_copy(values):
    """The whole of two layers is then the lowest part, summed over one of the copies of x."""
    module, x = built((3,), (2, 3), values), states(3, values)
    module.begin_part("layer_2")
    lowest = module.layers[0]
    pairs = torch.stack([x.repeat_interleave(8, 0), x.repeat(8, 1)], 1)
    summed = (-lowest(pairs) - lowest.log_z()).view(8, 8).logsumexp(1)
    torch.testing.assert_close(-module(x) - module.log_z(), summed, rtol=0, atol=1e-12)
    low, high = (layer.single for layer in module.layers)
    assert torch.equal(high.visible_biases, low.hidden_biases)
    assert torch.equal(high.hidden_biases, low.visible_biases)


@both
def test_the_gain_of_the_highest_part_raises_the_bound_by_half(values):
    """Salakhutdinov and Hinton (2012): the prior of h_1 becomes the geometric mean of those of both parts, which is at
    least as high as theirs after it is normalised."""
    module, x, h = built((3,), (2, 3), values), states(3, values), states(2, values)
    lowest, highest = module.layers
    log_q = torch.log_softmax((2 * x @ lowest.single.weights + lowest.single.hidden_biases) @ h.T, 1)

    def bound():
        """With q(h_1 | x) of the lowest part, and h_2 summed out."""
        field = h @ lowest.single.weights.T + lowest.single.visible_biases
        given_h = torch.log_softmax(field @ x.T, 1).T
        top = module.layered().biases[1]
        above = torch.logsumexp((h @ highest.single.weights + highest.single.hidden_biases) @ states(3, values).T, 1)
        log_z_x = torch.logsumexp(field @ x.T, 1)
        prior = torch.log_softmax(h @ top + above + log_z_x, 0)
        return (log_q.exp() * (given_h + prior - log_q)).sum(1)

    def likelihood_of_h():
        return (log_q.exp() * (-highest(h) - highest.log_z())).sum(1)

    module.begin_part("layer_2")
    before, gain = bound(), likelihood_of_h()
    with torch.no_grad():
        for number, weights in enumerate(highest.parameters()):
            weights.add_(torch.randn(weights.shape, generator=generator(50 + number)))
    assert (bound() - before >= (likelihood_of_h() - gain) / 2 - 1e-12).all()
    assert (bound() <= -module(x) - module.log_z() + 1e-12).all()


@both
def test_sizes_that_do_not_allow_the_transpose_keep_their_weights(values):
    module = built((3,), (2, 4), values)
    before = module.layers[1].single.weights.clone()
    module.begin_part("layer_1")
    module.begin_part("layer_2")
    assert torch.equal(module.layers[1].single.weights, before)
    assert torch.equal(module.layers[1].single.visible_biases, module.layers[0].single.hidden_biases)


def test_training_a_part_leaves_the_others_alone_and_changes_the_whole():
    module, x = built((3,), (2, 3), "binary"), states(3, "binary")
    before, energies = copy.deepcopy(module), module(x)
    part = module.part("layer_2")
    torch.optim.SGD(part.parameters(), lr=0.1).zero_grad()
    part(states(2, "binary")).sum().backward()
    with torch.no_grad():
        for weights in part.parameters():
            weights -= 0.1 * weights.grad
    assert all(map(torch.equal, module.layers[0].parameters(), before.layers[0].parameters()))
    assert not torch.allclose(module(x), energies)


# Specs ----------------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("hidden", [(2, 3), (3, 1, 2)], ids=str)
def test_small_machines_obey_the_laws(hidden, values):
    check_component(DBM(hidden=hidden, shape=(2,), values=values))


def test_what_is_offered_follows_from_the_sizes():
    def offers(*hidden, **more):
        return DBM(hidden=hidden, **more).traits().offers - DBM.offers

    exact, energies = {"log_z", "sample_exact", "bound"}, {"energy", "gradient"}
    assert offers(16, 64) == exact | energies
    assert offers(64, 16) == energies
    assert offers(20, 64) == exact
    assert offers(10, 64, 10, 64) == exact
    assert offers(64, 64) == set()
    assert offers(64, 16, shape=(4,)) == exact | energies
    assert offers(64, 17, shape=(4,)) == set()
    assert sum(p.numel() for p in DBM(hidden=(3, 2)).build((4,)).parameters()) == DBM(hidden=(3, 2)).parameter_count(
        (4,)
    )


SPEC = """
ebmkit: 1
data: {use: digits, binarize: binary, resize: [2, 2]}
model: {use: dbm, hidden: %s}
objective: %s
train: %s
"""
BRIEF = "{use: variational_mle, sampler: {use: gibbs, steps: 1}}"


def loaded(tmp_path, hidden="[3, 4]", objective=BRIEF, train="{steps: 5}", more=""):
    path = tmp_path / "spec.yaml"
    path.write_text(SPEC % (hidden, objective, train) + more)
    return load_spec(path)


def test_one_section_trains_every_part_and_then_the_whole(tmp_path):
    plan = loaded(tmp_path, "[64, 64]", train="{steps: 7, optimizer: {use: sgd, lr: 0.5}}")
    assert [stage.part for stage in plan.spec.stages] == ["layer_1", "layer_2", None]
    assert [(stage.steps, stage.optimizer.lr) for stage in plan.spec.stages] == [(7, 0.5)] * 3
    assert plan.chain_sampler.component_name == "gibbs"
    assert [stage.part for stage in loaded(tmp_path, train="[{steps: 5}]").spec.stages] == [None]
    parted = loaded(tmp_path, "[64, 64]", "{use: mle, sampler: gibbs}", "[{part: 1, steps: 5}, {part: 2, steps: 5}]")
    assert parted.chain_sampler.component_name == "gibbs"


def test_the_bound_of_a_run_has_no_gain_over_a_layer_that_is_no_model(tmp_path):
    plan = loaded(
        tmp_path, "[3, 4]", train="{steps: 5, batch_size: 16}", more="evaluate: [variational_bound]\nsamples: 20\n"
    )
    found = run(plan, runs_dir=tmp_path, report=False).results
    assert {name for name in found if "bound" in name} == {"variational_bound", "variational_bound_error"}
    assert found["variational_bound"] < 0
    assert found["variational_bound_error"] == 0
    with pytest.raises(Mistakes, match="no metric reports 'variational_bound_gain'"):
        loaded(
            tmp_path,
            more="evaluate: [variational_bound]\nexpect: [{metric: variational_bound_gain, above: 0}]\n",
        )


@pytest.mark.parametrize(
    ("given", "words", "line"),
    [
        ({"hidden": "[64, 64]", "objective": "{use: mle, sampler: gibbs}"}, "needs 'energy'", 5),
        ({"hidden": "[64, 64]", "train": "[{steps: 5, objective: exact_mle}]"}, "needs 'energy'", 6),
        ({"train": "[{part: 3, steps: 5}]"}, "model 'dbm' has no part 3", 6),
        ({"train": "[{part: h, steps: 5}]"}, "model 'dbm' has no part 'h'", 6),
        ({"objective": "{use: variational_mle, sampler: langevin}"}, "needs real states", 5),
        ({"objective": "{use: variational_mle, sampler: gibbs_with_gradients}"}, "moves visible ones only", 5),
        ({"hidden": "[64, 64]", "more": "evaluate: [log_z]"}, "needs 'energy'", 7),
        ({"hidden": "[64, 64]", "more": "evaluate: [variational_bound]"}, "needs 'bound'", 7),
        ({"hidden": "[3]"}, "hidden", 4),
        ({"hidden": "[]"}, "hidden", 4),
        ({"hidden": "[3, 0]"}, "hidden", 4),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_at_its_line(tmp_path, given, words, line):
    with pytest.raises(Mistakes) as caught:
        loaded(tmp_path, **given)
    found = [each for each in caught.value.mistakes if words in each.message]
    assert found, [each.message for each in caught.value.mistakes]
    assert found[0].place.line == line


def test_the_refusal_of_an_energy_that_is_not_tractable_says_what_fits(tmp_path):
    with pytest.raises(Mistakes) as caught:
        loaded(tmp_path, "[64, 64]", "{use: mle, sampler: gibbs}")
    assert "'variational_mle'" in caught.value.mistakes[0].help
