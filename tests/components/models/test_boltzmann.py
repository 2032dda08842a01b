"""`boltzmann`: a lecture's worked table, conditionals from the energy, and training that keeps W symmetric."""

import math
from itertools import product

import pytest
import torch

from ebmkit import load_spec, run
from ebmkit.chains.energy import frozen
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.maths import enumeration
from tests.components.oracles import assert_mean, generator, numeric_gradient

LECTURE = Boltzmann(weights=((0, -1, -1), (-1, 0, 2), (-1, 2, 0)), biases=(0, 1, 0), values="spin")

#: x, H(x) = -E(x) and exp H as printed there; in the third row H is printed as -3, though exp H is right.
TABLE = [
    ((-1, -1, -1), -1, 0.368),
    ((-1, -1, 1), -3, 0.050),
    ((-1, 1, -1), -1, 0.368),
    ((-1, 1, 1), 5, 148.413),
    ((1, -1, -1), 3, 20.086),
    ((1, -1, 1), -3, 0.050),
    ((1, 1, -1), -1, 0.368),
    ((1, 1, 1), 1, 2.718),
]


def test_the_worked_table_of_the_lecture():
    module = LECTURE.build((3,)).requires_grad_(False)
    x = torch.tensor([row for row, _, _ in TABLE], dtype=torch.float64)
    assert module(x).tolist() == [-H for _, H, _ in TABLE]
    weights = (-module(x)).exp()
    torch.testing.assert_close(weights, torch.tensor([w for _, _, w in TABLE]), rtol=0, atol=5e-4)
    p = weights / weights.sum()
    assert round(float(module.log_z().exp()), 3) == round(float(weights.sum()), 3) == 172.420
    assert round(float(p[x[:, 0] == 1].sum()), 3) == 0.135
    among = x[:, 1] == -1
    assert round(float(p[among & (x[:, 0] == 1)].sum() / p[among].sum()), 3) == 0.980


def random_machine(units, values, seed=0, shape=None):
    rng = generator(seed)
    upper = torch.randn(units, units, generator=rng).triu(1)
    rows = tuple(map(tuple, (upper + upper.T).tolist()))
    return Boltzmann(weights=rows, biases=tuple(torch.randn(units, generator=rng).tolist()), shape=shape, values=values)


EVENTS = [(1,), (2,), (10,), (1, 2, 5)]


@pytest.mark.parametrize("values", ["binary", "spin"])
@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_energy_conditionals_and_normaliser_are_those_of_the_formulas(event, values):
    d = math.prod(event)
    model = random_machine(d, values, shape=event)
    module, W, b = model.build(event), torch.tensor(model.weights), torch.tensor(model.biases)
    low = 0.0 if values == "binary" else -1.0
    states = torch.tensor(list(product((low, 1.0), repeat=d))).view(-1, *event)
    flat = states.flatten(1)
    energy = torch.stack([-x @ W @ x / 2 - b @ x for x in flat])
    torch.testing.assert_close(module(states), energy)
    assert module.log_z().item() == pytest.approx(float((-energy).logsumexp(0)), abs=1e-12)
    p = (-energy).softmax(0)
    for unit in range(d):
        high, others = flat[:, unit] == 1, flat.clone()
        others[:, unit] = 0
        _, group = others.unique(dim=0, return_inverse=True)
        mass = torch.zeros(len(p)).index_add(0, group, p)
        given = torch.zeros(len(p)).index_add(0, group[high], p[high])
        conditional = (given / mass)[group]
        feels = flat @ W[unit] + b[unit]
        torch.testing.assert_close(conditional, torch.sigmoid(feels if values == "binary" else 2 * feels))
        torch.testing.assert_close(module.log_odds(states, torch.tensor([unit]))[:, 0].sigmoid(), conditional)


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_the_gradient_is_w_x(event):
    model = random_machine(math.prod(event), "spin", shape=event)
    x = torch.randn(7, *event, generator=generator(1))
    value, gradient = model.build(event).energy_and_grad(x)
    expected = -(x.flatten(1) @ torch.tensor(model.weights) + torch.tensor(model.biases))
    torch.testing.assert_close(gradient, expected.view_as(x))
    assert value.shape == (7,)


@pytest.mark.parametrize("values", ["binary", "spin"])
def test_exact_draws_have_the_means_of_enumeration(values):
    module = random_machine(6, values).build((6,))
    states = torch.tensor(list(product((0.0 if values == "binary" else -1.0, 1.0), repeat=6)))
    with torch.no_grad():
        p = (-module(states)).softmax(0)
    x = module.sample_exact(50_000, generator(2))
    assert_mean(x, p @ states)
    assert_mean(x[:, :5] * x[:, 1:], p @ (states[:, :5] * states[:, 1:]))


def test_exact_draws_reach_every_state_in_single_precision():
    """Of 65,536 states that are all alike no one is left out by rounding."""
    torch.set_default_dtype(torch.float32)
    module = Boltzmann(weights=((0.0,) * 16,) * 16).build((16,))
    x = module.sample_exact(2_000_000, generator(3))
    counts = torch.bincount(enumeration.numbers(x, (0.0, 1.0)), minlength=2**16)
    assert int(counts.min()) > 0
    statistic = float(((counts.double() - 2e6 / 2**16) ** 2).sum() / (2e6 / 2**16))
    assert abs(statistic - (2**16 - 1)) < 5 * math.sqrt(2 * 2**16)


def test_the_slope_of_the_normaliser_is_the_mean_of_the_model():
    module = random_machine(4, "spin").build((4,))
    module.log_z().backward()
    for parameter in module.parameters():
        torch.testing.assert_close(parameter.grad, numeric_gradient(module.log_z, parameter), rtol=0, atol=1e-7)


def test_training_keeps_w_symmetric_and_its_zeros():
    model = Boltzmann(weights=((0, 1, 0), (1, 0, -1), (0, -1, 0)), biases=(0, 0, 1))
    module = model.build((3,))
    optimizer = torch.optim.Adam(module.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (module(torch.rand(9, 3, generator=generator(4))).mean() + module.log_z()).backward()
        optimizer.step()
    W = module.weights().detach()
    torch.testing.assert_close(W, W.T, rtol=0, atol=0)
    assert W.diagonal().tolist() == [0, 0, 0]
    assert W[0, 2] == 0
    assert W[0, 1] != 1
    assert module.biases.tolist() != [0, 0, 1]
    assert [block.tolist() for block in module.blocks()] == [[0, 2], [1]]


def test_without_weights_all_units_are_connected_by_small_ones():
    module = Boltzmann().build((1, 4, 5))
    W = module.weights().detach()
    assert int((W != 0).sum()) == 20 * 19
    assert 0.005 < float(W[W != 0].std()) < 0.02
    assert module.biases.tolist() == [0.0] * 20
    assert [block.tolist() for block in module.blocks()] == [[unit] for unit in range(20)]


def test_w_is_written_once_for_a_chain():
    module = random_machine(5, "spin").build((5,))
    with frozen(module):
        assert module.weights() is module.weights()
    assert module.weights() is not module.weights()
    assert module.couplings.requires_grad


def test_what_it_offers_follows_from_its_parameters():
    plain = {"energy", "gradient", "conditionals", "blocks"}
    assert Boltzmann().traits().offers == plain  # of any shape
    assert Boltzmann(shape=(17,)).traits().offers == plain
    assert Boltzmann(shape=(4, 4)).traits().offers == plain | {"sample_exact", "log_z", "ground_state"}
    assert (Boltzmann().traits().space, Boltzmann(values="spin").traits().space) == ("binary", "spin")
    assert Boltzmann().event() is None
    assert Boltzmann(biases=(1.0, 2.0)).event() == (2,)
    assert Boltzmann(biases=(1.0, 2.0), shape=(1, 2)).event() == (1, 2)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"weights": ((0.0, 1.0), (-1.0, 0.0))}, "'weights' is not symmetric: row 1 has -1.0 in column 0"),
        ({"weights": ((0.5,),)}, "'weights': row 0 has 0.5 on the diagonal, which must be zero"),
        ({"weights": ((0.0, 1.0, 0.0), (1.0, 0.0))}, "row 0 has 3 numbers, but there are 2 units"),
        ({"weights": ((0.0,),), "biases": (0.0, 1.0)}, "'biases' has 2 numbers, but there are 1 units"),
        ({"weights": ((0.0,),), "shape": (1, 2)}, "'weights' has 1 rows, but there are 2 units"),
        ({"biases": (0.0,), "shape": (2,)}, "'biases' has 1 numbers, but there are 2 units"),
    ],
)
def test_what_is_no_machine_is_refused(parameters, says):
    with pytest.raises(ValueError, match=says):
        Boltzmann(**parameters)


def test_a_spec_trains_one_by_gibbs(tmp_path, monkeypatch):
    """From independent data of a known machine, by persistent chains; the log-likelihood comes close to the truth's."""

    monkeypatch.setattr("ebmkit.report.summary.draw_summary", lambda *content: b"a picture")
    monkeypatch.setattr("ebmkit.report.page.write_report", lambda *content: "a report")
    torch.set_default_dtype(torch.float32)
    weights, biases = ((0, 1, -2), (1, 0, 0.5), (-2, 0.5, 0)), (0.5, -1, 0.5)
    truth = {"use": "boltzmann", "weights": list(map(list, weights)), "biases": list(biases)}
    plan = load_spec(
        {
            "ebmkit": 1,
            "data": {"use": "from_model", "model": truth, "size": 20_000},
            "model": {"use": "boltzmann", "shape": [3]},
            "objective": {
                "use": "mle",
                "energy_l2": 0.0,
                "sampler": {"use": "gibbs", "steps": 2},
                "init": {"use": "replay", "size": 1000, "rejuvenation": 0.0},
            },
            "train": {"steps": 300, "batch_size": 500, "optimizer": {"use": "adam", "lr": 0.05}, "final_lr": 0.02},
            "sampler": {"use": "gibbs", "steps": 50},
            "evaluate": ["log_likelihood", {"use": "probability", "of": [[0, 1]], "given": [[2, 1]]}],
            "samples": 1000,
        }
    )
    found = run(plan, runs_dir=tmp_path).results
    states = torch.tensor(list(product((0.0, 1.0), repeat=3)))
    log_p = (-Boltzmann(weights=weights, biases=biases).build((3,))(states).detach()).log_softmax(0)
    p, given = log_p.exp(), states[:, 2] == 1
    assert abs(found["log_likelihood"] - float((p * log_p).sum())) < 0.03
    true = float(p[given & (states[:, 0] == 1)].sum() / p[given].sum())
    assert abs(found["p(x0=1|x2=1)_exact"] - true) < 0.05
    assert abs(found["p(x0=1|x2=1)"] - found["p(x0=1|x2=1)_exact"]) < 0.03
