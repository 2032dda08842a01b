"""`dbn`, `ancestral` and `variational_bound` against sums over all states of all layers, in float64."""

import math
from itertools import product

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.components.models.dbn import DBN
from ebmkit.components.samplers.ancestral import Ancestral
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import generator

LOW = {"binary": 0.0, "spin": -1.0}
both = pytest.mark.parametrize("values", ["binary", "spin"])
sizes = pytest.mark.parametrize("hidden", [(2, 3), (3, 4), (2, 3, 2)], ids=str)


def built(hidden, values, event=(4,), seed=0):
    module = DBN(hidden=hidden, values=values).build(event).double()
    with torch.no_grad():
        for number, weights in enumerate(module.parameters()):
            weights.copy_(torch.randn(weights.shape, generator=generator(seed + number)))
    return module


def states(units, values):
    return torch.tensor(list(product((LOW[values], 1.0), repeat=units)), dtype=torch.float64)


def bernoulli(field, all_states):
    """The table of probabilities of all states, a row per row of fields, normalised by their sum."""
    return torch.softmax(field @ all_states.T, 1)


def by_hand(module, values):
    """p of all x, and tables p(lower | upper), from the top RBM by sums of exp(-E) over both of its layers."""
    top = module.layers[-1]
    v, h = states(len(top.visible_biases), values), states(len(top.hidden_biases), values)
    weights = torch.exp((v @ top.visible_biases)[:, None] + (h @ top.hidden_biases)[None] + v @ top.weights @ h.T)
    p = weights.sum(1) / weights.sum()
    for layer in reversed(module.layers[:-1]):
        h, v = states(len(layer.hidden_biases), values), states(len(layer.visible_biases), values)
        p = p @ bernoulli(h @ layer.weights.T + layer.visible_biases, v)
    return p


@both
@sizes
def test_the_energy_is_that_of_sums_over_all_layers(hidden, values):
    module, x = built(hidden, values), states(4, values)
    log_p = -module(x) - module.log_z()
    torch.testing.assert_close(log_p, by_hand(module, values).log(), rtol=0, atol=1e-12)


def tie(module):
    module.begin_part(module.names[1])


@both
def test_a_tied_network_of_two_layers_is_its_rbm_and_the_bound_is_its_likelihood(values):
    module, x = built((3, 4), values), states(4, values)
    first = module.layers[0]
    rbm = -first(x) - first.log_z()
    assert not torch.allclose(-module(x) - module.log_z(), rbm)
    tie(module)
    torch.testing.assert_close(-module(x) - module.log_z(), rbm, rtol=0, atol=1e-12)
    bounds = module.log_bounds(x, generator(3))
    torch.testing.assert_close(bounds, rbm[:, None].expand(-1, 2), rtol=0, atol=1e-12)


@both
def test_sizes_that_do_not_allow_the_transpose_keep_their_weights(values):
    module = built((3, 2), values)
    before = module.layers[1].weights.clone()
    tie(module)
    assert torch.equal(module.layers[1].weights, before)
    assert torch.equal(module.layers[1].visible_biases, module.layers[0].hidden_biases)


@both
def test_the_bound_is_below_the_likelihood_and_has_the_mean_of_the_sum_over_all_hidden_states(values):
    module, x = built((2, 3), values), states(4, values)
    first, top = module.layers
    h = states(2, values)
    q = bernoulli(x @ first.weights + first.hidden_biases, h)
    down = bernoulli(h @ first.weights.T + first.visible_biases, x).T
    prior = -top(h) - top.log_z()
    exact = (q * (down.log() + prior - q.log())).sum(1)
    log_p = by_hand(module, values).log()
    assert (exact < log_p).all()
    draws = torch.stack([module.log_bounds(x, generator(seed))[:, 1] for seed in range(2000)])
    error = draws.std(0) / len(draws) ** 0.5
    assert ((draws.mean(0) - exact).abs() < 5 * error + 1e-12).all()


@both
@sizes
@pytest.mark.parametrize("way", ["ancestral", "exact"])
def test_samples_have_the_probabilities_of_all_states(hidden, values, way):
    module, n = built(hidden, values, event=(2, 1)), 20_000
    if way == "exact":
        x = module.sample_exact(n, generator(1))
    else:
        start = torch.full((n, 2, 1), 1.0, dtype=torch.float64)
        x = run_chain(Ancestral(steps=60), module, start, generator(1)).x
    assert x.shape == (n, 2, 1)
    p = by_hand(module, values)
    counts = (x.flatten(1)[:, None] == states(2, values)).all(2).double().mean(0)
    error = (p * (1 - p) / n).sqrt()
    assert ((counts - p).abs() < 5 * error).all()


def test_a_part_sees_hidden_units_of_the_part_below():
    module, x = built((2, 3), "binary"), states(4, "binary")
    assert module.seen_by("layer_1", x, generator(0)) is x
    seen = torch.stack([module.seen_by("layer_2", x, generator(seed)) for seed in range(3000)])
    expected = module.layers[0].hidden_means(x)
    assert ((seen.mean(0) - expected).abs() < 5 * (expected * (1 - expected) / 3000).sqrt()).all()


def test_what_is_offered_follows_from_the_sizes():
    always = {"parts", "ancestral", "activations", "receptive_fields", "reconstruct"}

    def offers(*hidden, **more):
        return DBN(hidden=hidden, **more).traits().offers - always

    assert offers(12, 64) == {"energy", "gradient", "log_z", "sample_exact", "bound"}
    assert offers(13, 64) == {"sample_exact", "bound"}
    assert offers(64, 20) == {"sample_exact"}
    assert offers(64, 20, shape=(4, 5)) == {"sample_exact", "bound"}
    assert offers(64, 32) == set()
    module = built((3, 2), "spin")
    assert sum(p.numel() for p in module.parameters()) == DBN(hidden=(3, 2)).parameter_count((4,))
    assert math.prod(module.layers[1].weights.shape) == 6


SPEC = """
ebmkit: 1
data: {use: digits, binarize: binary, resize: [2, 2]}
model: {use: dbn, hidden: [3, 4]}
objective: {use: mle, sampler: {use: gibbs, steps: 1}, init: data}
train: %s
"""


def loaded(tmp_path, train, text=SPEC):
    path = tmp_path / "spec.yaml"
    path.write_text(text % train)
    return load_spec(path)


def test_one_section_trains_every_part_in_turn_and_the_resolved_spec_says_so(tmp_path):
    plan = loaded(tmp_path, "{steps: 7, optimizer: {use: sgd, lr: 0.5}}")
    assert [stage.part for stage in plan.spec.stages] == ["layer_1", "layer_2"]
    assert [(stage.steps, stage.optimizer.lr) for stage in plan.spec.stages] == [(7, 0.5)] * 2
    written = loaded(
        tmp_path,
        "[{part: layer_1, steps: 7, optimizer: {use: sgd, lr: 0.5}}, "
        "{part: layer_2, steps: 7, optimizer: {use: sgd, lr: 0.5}}]",
    )
    assert plan.hash == written.hash
    assert plan.chain_sampler.component_name == "ancestral"


@pytest.mark.parametrize(
    ("train", "words", "line"),
    [
        ("[{part: 3, steps: 5}]", "model 'dbn' has no part 3", 6),
        ("[{part: layer_9, steps: 5}]", "model 'dbn' has no part 'layer_9'", 6),
        ("[{part: 2, steps: 5, objective: score_matching}]", "needs real states", 6),
        ("[{part: 1, steps: 5, objective: nce}, {part: 2, steps: 5}]", "real states", 6),
        ("[{part: 1, steps: 5, objective: exact_mle}]", "would have no effect", 5),
    ],
)
def test_a_stage_that_does_not_fit_is_refused_at_its_line(tmp_path, train, words, line):
    with pytest.raises(Mistakes) as caught:
        loaded(tmp_path, train)
    found = [each for each in caught.value.mistakes if words in each.message]
    assert found, [each.message for each in caught.value.mistakes]
    assert found[0].place.line == line


def test_models_without_parts_refuse_them_and_large_networks_need_them(tmp_path):
    with pytest.raises(Mistakes, match="model 'rbm' has no part 1; it is trained as a whole"):
        loaded(tmp_path, "{part: 1, steps: 5}", SPEC.replace("dbn, hidden: [3, 4]", "rbm"))
    with pytest.raises(Mistakes, match="this stage names no 'part'"):
        loaded(tmp_path, "[{steps: 5}]", SPEC.replace("[3, 4]", "[30, 4]"))
