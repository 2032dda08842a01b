"""Long chains: what is kept of them, and what is known of it."""

from typing import NamedTuple

import pytest
import torch
from torch import nn

import ebmkit
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.contracts import draws as contract
from ebmkit.contracts.draws import Draws
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.engine.sampling import give_kept_samples, view_of
from ebmkit.errors.running import Diverged
from ebmkit.language.sections import Chains
from tests.chains.long_chains import run_chains


def generator(seed):
    return torch.Generator().manual_seed(seed)


class Walk(NamedTuple):
    x: torch.Tensor


class Counter(Sampler):
    """One further at every step."""

    steps = 1

    def init(self, energy, x, rng):
        return Walk(x)

    def step(self, energy, state, rng):
        return Walk(state.x + 1), StepInfo(acceptance=state.x.flatten(1)[:, 0] / 1000)


@pytest.mark.parametrize("event", [(1,), (2,), (1, 2, 2)])
def test_which_states_are_kept(event):
    x = 100 * torch.arange(3.0).view(3, *[1] * len(event)).expand(3, *event)
    steps = []
    draws = run_chains(
        Counter(), nn.Identity(), x, generator(0), draws=4, thin=5, burn_in=7, on_step=lambda: steps.append(1)
    )
    assert draws.x.shape == (3, 4, *event)
    assert draws.x[2].flatten(1)[:, 0].tolist() == [212, 217, 222, 227]
    assert len(steps) == 7 + 4 * 5 == Chains(count=3, burn_in=7, thin=5).length(Counter(), samples=10)
    # Acceptances of the five steps to a state are averaged.
    torch.testing.assert_close(draws.seen["acceptance"][2], torch.tensor([0.209, 0.214, 0.219, 0.224]))


@pytest.mark.parametrize("thin", [1, 3])
@pytest.mark.parametrize("sampler", [Metropolis(scale=0.5), Langevin(step_size=0.1)])
def test_energies_are_those_of_the_states(sampler, thin):
    module = Gaussian(mean=(0.0, 1.0)).build((2,))
    draws = run_chains(sampler, module, torch.zeros(5, 2), generator(0), draws=6, thin=thin)
    torch.testing.assert_close(draws.seen["energy"], module(draws.x.flatten(0, 1)).view(5, 6))
    assert draws.evaluations == 6 * thin


def test_what_is_written_is_read_back():
    seen = {"energy": torch.randn(2, 3), "acceptance": torch.rand(2, 3)}
    draws = Draws(torch.randn(2, 3, 1, 4), seen, 12, {"step_size": torch.tensor(0.3)})
    again = Draws.from_tensors(draws.x, seen, draws.to_tensors())
    assert again.x.equal(draws.x)
    assert again.evaluations == 12
    assert again.seen.keys() == seen.keys()
    assert again.tuning["step_size"] == draws.tuning["step_size"]


def test_blocks_are_all_draws_in_order(monkeypatch):
    monkeypatch.setattr(contract, "BLOCK", 2 * 4 * 3)
    draws = Draws(torch.randn(2, 10, 4), {}, 0, {})
    assert [block.shape[1] for block in draws.blocks()] == [3, 3, 3, 1]
    assert torch.cat([*draws.blocks()], 1).equal(draws.x)


SPEC = """
ebmkit: 1
name: long
model: {use: gaussian, mean: [0, 0, 3]}
sampler: {use: metropolis, scale: 1.0}
chains: {count: 3, burn_in: 20, thin: 2}
samples: 100
"""


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "long.yaml"
    path.write_text(SPEC)
    return path


def test_a_run_keeps_its_chains(spec, tmp_path, undrawn):
    record = ebmkit.run(ebmkit.load_spec(spec), runs_dir=tmp_path / "runs")
    view = view_of(record.plan, record.folder)
    give_kept_samples(view, record.folder)
    kept = view.draws
    assert kept.x.shape == (3, 34, 3)
    assert view.samples(102).equal(kept.x.flatten(0, 1))
    drawn = view_of(record.plan, record.folder)
    drawn.samples(100)
    assert drawn.draws.x.equal(kept.x)
    assert drawn.draws.seen["acceptance"].equal(kept.seen["acceptance"])


def test_fewer_samples_are_some_of_every_chain(spec):
    view = view_of(ebmkit.load_spec(spec), None)
    view.samples(102)
    assert view.samples(6).equal(view.draws.x.flatten(0, 1)[[0, 17, 34, 51, 68, 85]])


def test_who_asks_for_more_gets_what_there_is(spec):
    """The spec says how long chains are, not a metric that would like more samples."""
    view = view_of(ebmkit.load_spec(spec, sets=["evaluate=[{use: moments, samples: 5000}, rhat]"]), None)
    assert view.chain_length(5000) == 20 + 2 * 34
    assert len(view.samples(5000)) == 102
    assert view.draws.x.shape[1] == 34


def test_a_chain_that_begins_outside_the_support_is_refused(spec):
    view = view_of(ebmkit.load_spec(spec), None)
    view.parts.evaluated.forward = lambda x: torch.where(x[:, 0] > 0, torch.inf, 0.0)
    with pytest.raises(Diverged, match=r"init 'noise': \d of 3 chains start where the energy is not finite"):
        view.samples(10)
