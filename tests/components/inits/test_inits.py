"""`noise`, `data` and `replay`: the laws of chain starts."""

import math

import pytest
import torch

from ebmkit.components.inits.data import DataStart
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.components.inits.replay import Replay
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.contracts.modules.live import prepare_modules
from ebmkit.contracts.question import Question
from ebmkit.testing.setting import small_setting
from tests.components.oracles import EVENTS, FALSE_ALARM, assert_follows, generator, normal_cdf

shapes = pytest.mark.parametrize("event", EVENTS, ids=str)


@shapes
def test_noise_follows_its_distribution(event):
    like = torch.zeros(5000, *event)
    gaussian = NoiseStart(scale=1.5).build(event).draw(like, generator(0)).flatten(1)
    uniform = NoiseStart(distribution="uniform", scale=1.5).build(event).draw(like, generator(1)).flatten(1)
    for i in {0, gaussian.shape[1] - 1}:
        assert_follows([(gaussian[:, i], lambda t: normal_cdf(t / 1.5)), (uniform[:, i], lambda t: (t + 1.5) / 3)])


@shapes
def test_noise_has_a_center(event):
    d, like = math.prod(event), torch.zeros(6, *event)
    for center in (3.0, tuple(float(i) for i in range(d))):
        shift = torch.tensor(center).expand(d).view(event)
        for distribution in ("gaussian", "uniform"):
            plain, moved = (
                NoiseStart(distribution=distribution, center=at).build(event).draw(like, generator(0))
                for at in (0.0, center)
            )
            torch.testing.assert_close(moved, plain + shift)


@shapes
def test_a_center_of_another_length_is_refused(event):
    d = math.prod(event)
    assert NoiseStart(center=(0.0,) * d).refusal(Question(event, Gaussian())) is None
    refused = f"has a 'center' of {d + 1} coordinates, but a state has {d}"
    assert NoiseStart(center=(0.0,) * (d + 1)).refusal(Question(event, Gaussian())) == refused


def test_data_starts_are_copies_of_the_batch():
    batch = torch.randn(7, 2, generator=generator(0))
    x = DataStart().build((2,)).draw(batch, generator(1))
    torch.testing.assert_close(x, batch, rtol=0, atol=0)
    assert x.data_ptr() != batch.data_ptr()
    assert DataStart.needs_data


def marks(n, event, first):
    """Points that cannot come from noise, each with its own number."""
    return torch.arange(first, first + n, dtype=torch.get_default_dtype()).view(-1, *[1] * len(event)).expand(n, *event)


def filled(rejuvenation, event=(2,), size=60):
    """A buffer whose every slot holds a mark between 1000 and 1000 + size."""
    starts = Replay(size=size, rejuvenation=rejuvenation).build(event)
    starts.draw(torch.zeros(size, *event), generator(0))
    starts.keep(marks(size, event, 1000))
    return starts


@shapes
def test_without_rejuvenation_chains_persist(event):
    starts, rng = filled(0.0, event), generator(1)
    for _ in range(5):
        x = starts.draw(torch.zeros(60, *event), rng)
        assert sorted(x.flatten(1)[:, 0].tolist()) == list(range(1000, 1060))
        starts.keep(x)


@shapes
def test_full_rejuvenation_is_noise(event):
    starts, rng = filled(1.0, event), generator(1)
    drawn = []
    for _ in range(100):
        x = starts.draw(torch.zeros(60, *event), rng)
        starts.keep(marks(60, event, 1000))
        drawn.append(x.flatten(1)[:, -1])
    assert_follows([(torch.cat(drawn), normal_cdf)])


def test_the_first_draw_of_a_slot_is_noise():
    x = Replay(size=5000, rejuvenation=0.0).build((1,)).draw(torch.zeros(5000, 1), generator(0))
    assert_follows([(x[:, 0], normal_cdf)])


def test_a_fraction_r_is_restarted():
    starts, rng, restarted, n = filled(0.25), generator(2), 0, 400
    for _ in range(n):
        restarted += int((starts.draw(torch.zeros(30, 2), rng)[:, 0] < 500).sum())
        starts.keep(marks(30, (2,), 1000))
    p = restarted / (30 * n)
    assert abs(p - 0.25) < 5 * (0.25 * 0.75 / (30 * n)) ** 0.5  # false alarm 6e-7


def test_slots_are_distinct_and_equally_likely():
    starts, rng, counts, draws = filled(0.0), generator(3), torch.zeros(60), 2000
    for _ in range(draws):
        x = starts.draw(torch.zeros(10, 2), rng)
        slots = (x[:, 0] - 1000).long()
        assert len(slots.unique()) == 10
        counts[slots] += 1
        starts.keep(x)
    # Negative correlation within a draw makes the true statistic smaller than chi-square: the bound is safe.
    statistic = ((counts - draws / 6) ** 2 / (draws / 6)).sum()
    p = torch.special.gammaincc(torch.tensor(59 / 2), statistic / 2)
    assert float(p) > FALSE_ALARM
    assert float(counts.min()) > 0


def test_kept_chains_go_back_to_the_slots_they_came_from():
    starts = filled(0.0)
    x = starts.draw(torch.zeros(10, 2), generator(4))
    starts.keep(-x)
    everything = starts.draw(torch.zeros(60, 2), generator(5))[:, 0]
    assert sorted(everything.abs().tolist()) == list(range(1000, 1060))
    assert sorted(everything[everything < 0].tolist()) == sorted((-x[:, 0]).tolist())


def test_the_buffer_is_all_of_its_state():
    one = filled(0.5)
    other = Replay(size=60, rejuvenation=0.5).build((2,))
    assert {k: v.shape for k, v in one.state_dict().items()} == {k: v.shape for k, v in other.state_dict().items()}
    other.load_state_dict(one.state_dict())
    like = torch.zeros(20, 2)
    torch.testing.assert_close(one.draw(like, generator(6)), other.draw(like, generator(6)), rtol=0, atol=0)


def test_restart_at_the_data():
    starts = Replay(size=10, rejuvenation=1.0, restart=DataStart()).build((2,))
    batch = torch.randn(4, 2, generator=generator(7))
    torch.testing.assert_close(starts.draw(batch, generator(8)), batch)


def test_what_cannot_work_is_refused():
    with pytest.raises(ValueError, match="20 chains are needed, but the buffer has 10 slots"):
        Replay(size=10).build((2,)).draw(torch.zeros(20, 2), generator(0))
    with pytest.raises(ValueError, match="not drawn from this buffer"):
        Replay(size=10).build((2,)).keep(torch.zeros(3, 2))
    with pytest.raises(ValueError, match="itself keeps chains"):
        Replay(restart=Replay())


@pytest.mark.parametrize(("space", "values"), [("binary", (0.0, 1.0)), ("spin", (-1.0, 1.0))])
def test_noise_on_discrete_states_is_a_fair_coin(space, values):
    starts = Replay(size=40_000, rejuvenation=1.0).build((2, 3))
    prepare_modules(starts, small_setting(torch.nn.Identity(), (2, 3), space))  # also what is inside it
    x = starts.draw(torch.zeros(40_000, 2, 3), generator(0))
    assert set(x.unique().tolist()) == set(values)
    share = (x == values[1]).double().mean(0)
    assert float((share - 0.5).abs().max()) < 5.6 * 0.5 / 200  # six means: false alarm 1e-7
