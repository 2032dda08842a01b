"""`boltzmann` with hidden units: sums over all states, Gibbs on all units, and chains that keep the whole state."""

import math
from itertools import product

import pytest
import torch
from safetensors.torch import load_file

from ebmkit import load_spec
from ebmkit.chains.context import StepContext
from ebmkit.components.inits.persistent import Persistent
from ebmkit.components.inits.replay import Replay
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.rbm import RBM
from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.setting import Setting
from ebmkit.engine import session
from ebmkit.engine.limit import Limit
from ebmkit.testing import check_component
from tests.components.models.test_rbm import LOW, joint_matrix, kernel, nested, table
from tests.components.oracles import assert_mean, generator
from tests.statistics.transitions import number, stationary_error

both = pytest.mark.parametrize("values", ["binary", "spin"])


def machine(event, hidden, values):
    units = math.prod(event) + hidden
    upper = table(units, units, seed=0).triu(1)
    upper[0, 1] = 0  # two units that do not interact
    return Boltzmann(
        weights=nested(upper + upper.T), biases=nested(table(units, seed=1)), hidden=hidden, shape=event, values=values
    )


def everything(units, values):
    return torch.tensor(list(product((LOW[values], 1.0), repeat=units)))


def by_hand(model, units):
    W, b = torch.tensor(model.weights), torch.tensor(model.biases)
    return torch.stack([-x @ W @ x / 2 - b @ x for x in units])


@both
@pytest.mark.parametrize(("event", "hidden"), [((1,), 1), ((3,), 2), ((1, 2, 2), 3)], ids=str)
def test_energies_are_sums_over_all_states(event, hidden, values):
    model, d = machine(event, hidden, values), math.prod(event)
    module, units = model.build(event), everything(d + hidden, values)
    energy = by_hand(model, units)
    torch.testing.assert_close(module.joint_energy(units), energy, rtol=0, atol=1e-12)
    v = everything(d, values)
    log_p = (-energy).view(len(v), -1).logsumexp(1)
    torch.testing.assert_close(module(v.view(-1, *event)), -log_p, rtol=0, atol=1e-12)
    assert module.log_z().item() == pytest.approx(float(log_p.logsumexp(0)), abs=1e-12)
    for i in range(d):
        low, high = v.clone(), v.clone()
        low[:, i], high[:, i] = LOW[values], 1.0
        found = module.log_odds(v.view(-1, *event), torch.tensor([i]))[:, 0]
        torch.testing.assert_close(found, log_p[number(high, v)] - log_p[number(low, v)], rtol=0, atol=1e-12)


@both
def test_the_gradient_of_the_likelihood_is_data_minus_model(values):
    model = machine((3,), 2, values)
    module, units = model.build((3,)), everything(5, values)
    p = (-by_hand(model, units)).softmax(0)
    x = everything(3, values)[[1, 4, 4, 7]]
    (module(x).mean() + module.log_z()).backward()
    given = torch.stack([p * (units[:, :3] == row).all(1) for row in x])
    data = (given / given.sum(1, keepdim=True)).mean(0)
    one, other = module.joint.pairs
    pairs = units[:, one] * units[:, other]
    torch.testing.assert_close(module.joint.couplings.grad, (p - data) @ pairs, rtol=0, atol=1e-10)
    torch.testing.assert_close(module.joint.biases.grad, (p - data) @ units, rtol=0, atol=1e-10)


@both
@pytest.mark.parametrize("scan", ["block", "fixed"])
def test_a_sweep_draws_all_units(values, scan):
    model = machine((3,), 2, values)
    module, states = model.build((3,)), everything(5, values)
    pi = (-by_hand(model, states) / 1.7).softmax(0)
    P = joint_matrix(Gibbs(scan=scan, temperature=1.7), module, states)
    assert stationary_error(P, pi) < 1e-12
    blocks = [block.tolist() for block in module.blocks()] if scan == "block" else [[k] for k in range(5)]
    assert blocks[0] == ([0, 1] if scan == "block" else [0])
    expected = torch.eye(len(pi))
    for block in blocks:
        expected = expected @ kernel(pi, states, block)
    torch.testing.assert_close(P, expected, rtol=0, atol=1e-12)


@both
def test_hidden_units_start_given_the_visible_ones(values):
    model = machine((3,), 2, values)
    module, v, h = model.build((3,)).requires_grad_(False), everything(3, values)[[5]], everything(2, values)
    p = (-by_hand(model, torch.cat([v.expand(4, -1), h], 1))).softmax(0)
    drawn = module.draw_hidden(v.expand(20_000, -1), generator(1))
    assert_mean(drawn, p @ h)
    assert_mean(drawn.prod(1), p @ h.prod(1))


@both
def test_it_obeys_the_laws(values):
    check_component(machine((3,), 2, values))


def test_without_interactions_inside_a_layer_it_is_an_rbm():
    W, b, c = table(4, 3, seed=1), table(4, seed=2), table(3, seed=3)
    joint = torch.zeros(7, 7)
    joint[:4, 4:], joint[4:, :4] = W, W.T
    machine = Boltzmann(weights=nested(joint), biases=nested(torch.cat([b, c])), hidden=3).build((4,))
    rbm = RBM(weights=nested(W), visible_biases=nested(b), hidden_biases=nested(c)).build((4,))
    v = everything(4, "binary")
    torch.testing.assert_close(machine(v), rbm(v), rtol=0, atol=1e-12)
    torch.testing.assert_close(machine.log_z(), rbm.log_z(), rtol=0, atol=1e-12)
    assert [block.tolist() for block in machine.blocks()] == [block.tolist() for block in rbm.blocks()]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"weights": ((0.0, 1.0), (1.0, 0.0)), "hidden": 2}, "is for 2 units, of which 2 are hidden: none is visible"),
        ({"biases": (0.0,), "hidden": 1, "shape": (1,)}, "none is visible"),
        ({"biases": (0.0, 0.0), "hidden": 1, "shape": (2,)}, "'biases' has 2 numbers, but there are 3 units"),
    ],
)
def test_what_is_no_machine_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Boltzmann(**wrong)


# A chain owns its state -----------------------------------------------------------------------------------------------


def prepared(init, module, event=(3,)):
    starts = init.build(event)
    prepare_modules(starts, Setting(event, "binary", module, generator(0)))
    return starts


@pytest.mark.parametrize(
    "init", [Persistent(chains=8), Replay(size=12, rejuvenation=0.3)], ids=["persistent", "replay"]
)
def test_hidden_units_are_kept_with_the_visible_ones(init):
    """Of chains that continue, the hidden units are those that were left; of new chains, those that were drawn."""
    module = machine((3,), 2, "binary").build((3,))
    starts = prepared(init, module)
    assert "hidden" in starts.state_dict()
    like, rng = torch.zeros(8, 3), generator(1)
    marks = torch.full((8, 2), 7.0)
    x = starts.draw(like, rng)
    assert torch.equal(starts.hidden_of(marks), marks)
    left = torch.arange(16.0).view(8, 2) + 10
    starts.keep_hidden(left)
    starts.keep(x + torch.arange(8.0).view(-1, 1) * 10)
    continued = 0
    for _ in range(3):
        x = starts.draw(like, rng)
        h = starts.hidden_of(marks)
        for row, units in zip(x, h, strict=True):
            old = int(units[0]) != 7
            continued += old
            if old:  # the chain of number k was left at 10 k and more, with hidden units 10 + 2 k and 11 + 2 k
                assert int(row[0]) // 10 == (int(units[0]) - 10) // 2
                assert units[1] == units[0] + 1
        starts.keep_hidden(h)
        starts.keep(x)
    assert continued > 0


def test_a_model_that_can_draw_hidden_units_again_keeps_none():
    starts = prepared(Persistent(chains=8), RBM(hidden=2, shape=(3,)).build((3,)))
    assert "hidden" not in starts.state_dict()
    assert torch.equal(starts.hidden_of(torch.ones(8, 2)), torch.ones(8, 2))


class Coldest(Gibbs):
    """Every unit takes its more likely value: a step depends on the whole state, and on nothing else."""

    def step(self, energy, state, rng):
        return super().step(energy.at(torch.full((len(state.x),), 1e-9)), state, rng)


@pytest.mark.parametrize(
    "init", [Persistent(chains=50), Replay(size=50, rejuvenation=0.0)], ids=["persistent", "replay"]
)
def test_a_chain_in_parts_is_one_chain(init):
    """Hidden units that were drawn again would lead elsewhere: the visible ones do not determine them."""
    module = machine((3,), 4, "spin").build((3,)).requires_grad_(False)
    with torch.no_grad():
        module.joint.couplings.mul_(-1)  # frustrated, so that sweeps do not end at once
    ends = []
    for parts in ((3,), (1, 1, 1)):
        starts = prepared(init, module)
        for steps in parts:
            x = starts.draw(torch.zeros(50, 3), generator(1))
            StepContext(generator(2 if steps == parts[0] else 3), starts, 1).chain(
                Coldest(steps=steps), module, x, starts=starts
            )
        ends.append(torch.cat([starts.positions, starts.hidden], 1))
    assert torch.equal(*ends)


SPEC = {
    "ebmkit": 1,
    "data": {"use": "from_model", "model": {"use": "boltzmann", "weights": [[0, 1, -2], [1, 0, 0.5], [-2, 0.5, 0]]}},
    "model": {"use": "boltzmann", "shape": [3], "hidden": 3},
    "objective": {"use": "mle", "sampler": {"use": "gibbs", "steps": 1}, "init": {"use": "persistent", "chains": 64}},
    "train": {"steps": 12, "batch_size": 64},
    "sampler": {"use": "gibbs", "steps": 5},
    "init": "training",
    "samples": 50,
    "evaluate": ["log_likelihood"],
}


@pytest.mark.parametrize("init", [{"use": "persistent", "chains": 64}, {"use": "replay", "size": 200}], ids=str)
def test_a_run_resumed_ends_where_the_undisturbed_one_ends(init, tmp_path):
    """Bit for bit: weights, and the whole state of the chains of training, which the samples continue."""
    torch.set_default_dtype(torch.float32)
    plan = load_spec({**SPEC, "objective": {**SPEC["objective"], "init": init}})
    whole = session.run(plan, runs_dir=tmp_path)
    paused = session.run(plan, runs_dir=tmp_path, limit=Limit(steps=5))
    resumed = session.resume(plan, paused.folder)
    assert resumed.results == whole.results
    one, two = (load_file(last(record.folder)) for record in (whole, resumed))
    assert any(name.endswith("hidden") for name in one)
    assert one.keys() == two.keys()
    for name in one:
        assert torch.equal(one[name], two[name]), name


def last(folder):
    """The tensors of the auxiliary modules in the last checkpoint."""
    (found,) = sorted(folder.glob("checkpoints/*"))[-1].glob("extras*.safetensors")
    return found
