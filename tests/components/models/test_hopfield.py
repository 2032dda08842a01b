"""`hopfield`: what is stored, as what, and how it is recalled."""

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.components.models.hopfield import Hopfield
from ebmkit.components.samplers.icm import ICM
from ebmkit.engine.build import build
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import generator

STORAGES = pytest.mark.parametrize("storage", ["hebbian", "pseudo_inverse"])


def coins(n, units, seed=0):
    return 2.0 * torch.randint(2, (n, units), generator=generator(seed)) - 1


def rows(patterns):
    return tuple(map(tuple, patterns.tolist()))


def stored(patterns, storage, values="spin"):
    given = patterns if values == "spin" else (patterns + 1) / 2
    return Hopfield(patterns=rows(given), storage=storage, values=values).build((patterns.shape[1],))


@STORAGES
def test_the_energy_is_that_of_the_rule(storage):
    """-1/2 sum_{i != j} s_i W_ij s_j, from one pair of units at a time."""
    patterns, x = coins(3, 7), coins(20, 7, 1)
    if storage == "hebbian":
        w = sum(torch.outer(p, p) for p in patterns) / 7
    else:
        w = patterns.T @ torch.linalg.inv(patterns @ patterns.T) @ patterns
    expected = -sum(w[i, j] * x[:, i] * x[:, j] for i in range(7) for j in range(7) if i != j) / 2
    torch.testing.assert_close(stored(patterns, storage)(x), expected, rtol=1e-12, atol=1e-12)


@STORAGES
def test_binary_units_have_the_energy_of_spins_up_to_a_constant(storage):
    patterns, x = coins(3, 8), coins(30, 8, 1)
    spin, binary = (stored(patterns, storage, values) for values in ("spin", "binary"))
    off = binary((x + 1) / 2) - spin(x)
    torch.testing.assert_close(off, off[:1].expand(30), rtol=1e-12, atol=1e-12)
    sites = torch.arange(8)
    torch.testing.assert_close(binary.log_odds((x + 1) / 2, sites), spin.log_odds(x, sites))


@pytest.mark.parametrize("values", ["spin", "binary"])
@pytest.mark.parametrize(("storage", "count"), [("hebbian", 8), ("pseudo_inverse", 100)])
def test_stored_patterns_are_fixed_points(storage, count, values):
    module = stored(coins(count, 200), storage, values)
    for scan in ("block", "random", "synchronous"):
        x = run_chain(ICM(steps=2, scan=scan), module, module.patterns, generator(0)).x
        assert torch.equal(x, module.patterns)


def test_a_projection_has_the_patterns_as_eigenvectors():
    """W p = (1 - P_ii) p in every unit, since the diagonal P_ii is left out."""
    patterns = coins(5, 12)
    module = stored(patterns, "pseudo_inverse")
    projection = torch.linalg.pinv(patterns) @ patterns
    torch.testing.assert_close(module.local_field(patterns), patterns * (1 - projection.diagonal()))


def test_dependent_patterns_are_stored_by_the_pseudo_inverse():
    p = coins(3, 10)
    one, two = stored(p, "pseudo_inverse"), stored(torch.cat([p, p, -p]), "pseudo_inverse")
    torch.testing.assert_close(one.weights, two.weights)


def test_patterns_that_leave_no_room_are_refused():
    with pytest.raises(ValueError, match="span all states of 6 units"):
        stored(torch.cat([2 * torch.eye(6) - 1]), "pseudo_inverse")


def test_patterns_are_recalled_from_corrupted_starts_and_completed():
    module = stored(coins(5, 100), "hebbian")
    x = module.patterns.clone()
    x[:, ::6] *= -1
    assert torch.equal(run_chain(ICM(steps=10), module, x, generator(0)).x, module.patterns)
    half = module.patterns.clone()
    half[:, 60:] = 1  # the known part is the first 60 units
    assert torch.equal(run_chain(ICM(steps=10), module, half, generator(0)).x, module.patterns)


def test_random_patterns_come_from_the_seed_of_the_run():
    spec = {"ebmkit": 1, "model": {"use": "hopfield", "patterns": 4, "shape": [3, 5]}, "sampler": "icm"}
    one, two, other = (build(load_spec({**spec, "seed": seed})).model for seed in (0, 0, 1))
    assert one.patterns.shape == (4, 3, 5)
    assert torch.equal(one.patterns, two.patterns)
    assert not torch.equal(one.patterns, other.patterns)
    assert set(one.patterns.unique().tolist()) == {-1.0, 1.0}


@pytest.mark.parametrize("values", ["spin", "binary"])
def test_the_training_data_are_stored(values):
    source = {"use": "ising", "shape": [2, 5], "coupling": 0.1, "values": values}
    data = {"use": "from_model", "model": source, "size": 3}
    model = {"use": "hopfield", "values": values}
    parts = build(load_spec({"ebmkit": 1, "data": data, "model": model, "sampler": "icm"}))
    assert parts.train.shape == (3, 2, 5)
    assert torch.equal(parts.model.patterns, parts.train)
    flat = parts.train.flatten(1).double()
    by_hand = stored(flat if values == "spin" else 2 * flat - 1, "hebbian", values)
    torch.testing.assert_close(parts.model.weights.double(), by_hand.weights, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ({}, "takes its shape from data"),
        ({"shape": [4]}, "stores the training data, but the spec has none"),
        ({"patterns": 3}, "random patterns need a 'shape'"),
        ({"patterns": [[1, -1], [1, 1, 1]]}, "row 1 has 3 numbers, but there are 2 units"),
        ({"patterns": [[1, 0]]}, "row 0 has 0.0, but spin units are -1 or 1"),
        ({"patterns": [[1, -1]], "values": "binary"}, "row 0 has -1.0, but binary units are 0 or 1"),
        ({"patterns": [[1, -1]], "storage": "oja"}, "'hebbian' or 'pseudo_inverse'"),
        ({"patterns": 0, "shape": [4]}, "patterns"),
    ],
)
def test_what_cannot_be_stored_is_refused_before_anything_runs(model, says):
    with pytest.raises(Mistakes) as caught:
        load_spec({"ebmkit": 1, "model": {"use": "hopfield", **model}, "sampler": "icm"})
    assert says in str(caught.value)
