"""`compile: true` changes the speed of chains, not their numbers."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from ebmkit.chains import compiled
from ebmkit.chains.chain import iterate_chain, run_chain
from ebmkit.chains.compiled import BLOCK, CompiledEnergy, Splits, compile_energy
from ebmkit.chains.energy import Energy, frozen
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.conv_layers import ConvLayer
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.components.samplers.metropolis import Metropolis

#: Two whole blocks and half of one, with all that a step can do.
SAMPLER = Langevin(steps=2 * BLOCK + BLOCK // 2, step_size=0.05, clip_gradient=1.0, clamp=(-2.0, 2.0))
#: With nothing between the gradient, which may be a bare product of matrices, and the step.
BARE = Langevin(steps=SAMPLER.steps, step_size=0.05)


class Autograd(nn.Module):
    """A network of a user, who wrote no gradient."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 16), nn.SiLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x).squeeze(1)


def network(name):
    torch.manual_seed(0)
    if name == "conv":
        return Conv(layers=(ConvLayer(channels=4),), spectral_norm=True, activation="silu").build((1, 8, 8)), (1, 8, 8)
    return (MLP(hidden=(16, 16)).build((2,)) if name == "by hand" else Autograd()), (2,)


def chain(module, event, sampler=SAMPLER, count=32, **options):
    rng = torch.Generator().manual_seed(1)
    start = torch.randn(count, *event, generator=rng)
    return run_chain(sampler, module, start, rng, **options), rng.get_state()


def require_same(ours, theirs):
    torch.testing.assert_close(ours.x, theirs.x, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(ours.last[:2], theirs.last[:2], rtol=1e-4, atol=1e-5)
    assert ours.traces.keys() == theirs.traces.keys()
    for name, trace in theirs.traces.items():
        torch.testing.assert_close(ours.traces[name], trace, rtol=1e-4, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(("name", "sampler"), [("by hand", SAMPLER), ("by autograd", BARE), ("conv", SAMPLER)])
def test_compiled_chains_are_those_of_eager_mode(name, sampler):
    module, event = network(name)
    followed = (True, False) if name == "by hand" else (False,)  # each takes its time to compile
    eager = {traces: chain(module, event, sampler, traces=traces)[0] for traces in followed}
    x = torch.randn(32, *event, generator=torch.Generator().manual_seed(0))
    with frozen(module) as energy:
        value, gradient = energy.value_and_grad(x)
    compile_energy(module)
    for traces, expected in eager.items():
        require_same(chain(module, event, sampler, traces=traces)[0], expected)
    with frozen(module) as energy:  # as the samplers use it that do not go by blocks
        torch.testing.assert_close(energy.value_and_grad(x), (value, gradient), rtol=1e-4, atol=1e-5)

    # Nothing is compiled again, or left as it was, when training has changed the weights, nor for a copy.
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(1.1)
    plain, _ = network(name)
    plain.load_state_dict(module.state_dict())
    with torch.compiler.set_stance("fail_on_recompile"):
        require_same(chain(module, event, sampler)[0], chain(plain, event, sampler)[0])
        require_same(chain(copy.deepcopy(module), event, sampler)[0], chain(plain, event, sampler)[0])


@pytest.fixture
def interpreted(monkeypatch):
    """Blocks as they are, without the minute that it takes to compile them."""
    monkeypatch.setattr(compiled, "_compiled", lambda function: function)


@pytest.mark.parametrize("name", ["by hand", "by autograd", "conv"])
@pytest.mark.parametrize("traces", [True, False])
def test_blocks_are_steps(interpreted, name, traces):
    module, event = network(name)
    expected, state = chain(module, event, traces=traces)
    compile_energy(module)
    found, same_state = chain(module, event, traces=traces)
    require_same(found, expected)
    assert torch.equal(state, same_state)
    if traces:
        assert len(found.traces["energy"]) == SAMPLER.steps


def test_every_step_is_counted(interpreted):
    module, _ = network("by hand")
    compile_energy(module)
    told = []
    with frozen(module) as energy:
        state = SAMPLER.init(energy, torch.zeros(3, 2), torch.Generator())
        blocks = [
            len(infos)
            for _, infos in iterate_chain(SAMPLER, energy, state, torch.Generator(), 23, on_step=lambda: told.append(1))
        ]
        assert blocks == [1, 1, 1]
        assert len(told) == energy.evaluations == 23


def test_large_states_go_step_by_step(interpreted, monkeypatch):
    """Noise that is drawn ahead must not fill the memory."""
    monkeypatch.setattr("ebmkit.chains.chain.NOISE", 3 * 2 * 4)
    module, _ = network("by hand")
    compile_energy(module)
    with frozen(module) as energy:
        state = SAMPLER.init(energy, torch.zeros(3, 2), torch.Generator())
        lengths = [len(infos) for _, infos in iterate_chain(SAMPLER, energy, state, torch.Generator(), 10, traced=True)]
    assert lengths == [4, 4, 2]


def test_a_chain_can_be_broken_off(interpreted):
    class Stop(Exception):
        pass

    def stop():
        raise Stop

    module, event = network("by hand")
    compile_energy(module)
    with pytest.raises(Stop):
        chain(module, event, on_step=stop)
    assert all(parameter.requires_grad for parameter in module.parameters())


def test_who_goes_by_blocks():
    module, _ = network("by hand")
    assert isinstance(SAMPLER, Splits)
    assert not isinstance(Metropolis(), Splits)
    with frozen(module) as energy:
        assert type(energy) is Energy
    compile_energy(module)
    with frozen(module) as energy:
        assert type(energy) is CompiledEnergy
