"""`persistent`: chains that are run in pieces are the chain that is run at once."""

import pytest
import torch

from ebmkit.chains.chain import run_chain
from ebmkit.components.inits.data import DataStart
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.inits.persistent import Persistent
from ebmkit.components.inits.replay import Replay
from ebmkit.components.models.mlp import MLP
from ebmkit.components.samplers.langevin import Langevin
from ebmkit.errors import Mistakes
from ebmkit.language.load import load_spec
from tests.components.oracles import EVENTS, assert_follows, generator, normal_cdf

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


@shapes
def test_five_short_runs_are_one_long_chain(event):
    torch.manual_seed(0)
    module = MLP(hidden=(8,)).build(event)
    start = torch.randn(30, *event, generator=generator(0))
    at_once = run_chain(Langevin(steps=15), module, start, generator(1)).x
    starts, rng = Persistent(chains=30, start=DataStart()).build(event), generator(1)
    for seed in range(5):
        # Batches and generators of later draws do not matter: the chains have begun.
        x = starts.draw(start if seed == 0 else torch.zeros_like(start), generator(seed))
        starts.keep(run_chain(Langevin(steps=3), module, x, rng).x)
    torch.testing.assert_close(starts.positions, at_once, rtol=0, atol=0)


@shapes
def test_chains_begin_in_noise(event):
    x = Persistent(chains=5000, start=NoiseStart(scale=0.5)).build(event).draw(torch.zeros(5000, *event), generator(0))
    flat = x.flatten(1)
    assert_follows([(flat[:, 0] / 0.5, normal_cdf), (flat[:, -1] / 0.5, normal_cdf)])


def test_chains_that_were_drawn_and_not_kept_begin_again():
    starts, like = Persistent(chains=10).build((2,)), torch.zeros(10, 2)
    assert not torch.equal(starts.draw(like, generator(0)), starts.draw(like, generator(1)))


@shapes
def test_a_small_batch_takes_the_first_chains_in_order(event):
    starts = Persistent(chains=6).build(event)
    marks = torch.arange(1000.0, 1006.0).view(-1, *[1] * len(event)).expand(6, *event)
    starts.keep(marks[:4])
    x = starts.draw(torch.zeros(6, *event), generator(0))
    torch.testing.assert_close(x[:4], marks[:4], rtol=0, atol=0)
    begun = NoiseStart().build(event).draw(torch.zeros(6, *event), generator(0))
    torch.testing.assert_close(x[4:], begun[4:], rtol=0, atol=0)  # these two begin now
    starts.keep(marks)
    starts.keep(-starts.draw(torch.zeros(2, *event), generator(1)))
    expected = torch.cat([-marks[:2], marks[2:]])
    torch.testing.assert_close(starts.draw(torch.zeros(6, *event), generator(2)), expected, rtol=0, atol=0)


def test_the_chains_are_all_of_its_state():
    one, other = (Persistent(chains=8).build((2,)) for _ in range(2))
    one.keep(torch.randn(5, 2, generator=generator(0)))
    other.load_state_dict(one.state_dict())
    like = torch.zeros(8, 2)
    torch.testing.assert_close(one.draw(like, generator(1)), other.draw(like, generator(1)), rtol=0, atol=0)


def test_draws_have_the_dtype_of_the_batch_and_are_no_window_into_the_chains():
    torch.set_default_dtype(torch.float32)
    starts = Persistent(chains=4).build((2,))
    starts.keep(torch.ones(4, 2))
    for dtype in (torch.float32, torch.float64):
        x = starts.draw(torch.zeros(4, 2, dtype=dtype), generator(0))
        assert x.dtype == dtype
        x.zero_()
        assert starts.positions.dtype == torch.float32
        assert float(starts.positions.min()) == 1.0


def test_what_cannot_work_is_refused():
    starts = Persistent(chains=10).build((2,))
    with pytest.raises(ValueError, match="20 chains are needed, but there are 10: raise 'chains' to at least 20"):
        starts.draw(torch.zeros(20, 2), generator(0))
    with pytest.raises(ValueError, match="20 chains are needed, but there are 10"):
        starts.keep(torch.zeros(20, 2))
    for start in (Replay(), Persistent()):
        with pytest.raises(ValueError, match="itself keeps chains"):
            Persistent(start=start)
        with pytest.raises(ValueError, match="itself keeps chains"):
            Replay(restart=start)


def test_a_batch_larger_than_the_chains_is_refused_before_the_run(tmp_path):
    path = tmp_path / "spec.yaml"
    path.write_text(
        "ebmkit: 1\ndata: two_moons\nmodel: mlp\ntrain: {steps: 1, batch_size: 128}\n"
        "objective: {use: mle, init: {use: persistent, chains: 100, start: data}}\n"
    )
    with pytest.raises(Mistakes) as caught:
        load_spec(path)
    (mistake,) = caught.value.mistakes
    assert (mistake.code, mistake.place.line, mistake.other.line) == ("E208", 5, 4)
    assert load_spec(path, sets=["objective.init.chains=128"])
