"""`verdict`: the levels and numbers for samples of known quality, and what limits them."""

import math

import pytest
import torch

from ebmkit.components.metrics.verdict import UNMIXED, Verdict
from ebmkit.contracts.draws import Draws
from ebmkit.contracts.judgement import Judges
from ebmkit.contracts.unmeasurable import Unmeasurable
from tests.components.oracles import generator
from tests.views import FakeView, model_for, viewed_spec


def view_of(samples, test, draws=None):
    spec = viewed_spec(model=model_for())
    return FakeView(samples, test, spec=spec, draws=draws)


def normal(*shape, seed=0):
    return torch.randn(shape, generator=generator(seed))


@pytest.mark.parametrize("event", [(1,), (3,), (1, 4, 4)], ids=str)
def test_levels(event):
    x, y = normal(3000, *event), normal(2000, *event, seed=1)
    found = {scale: Verdict().measure(view_of(scale * x, y)) for scale in (1.0, 1.18, 1.5)}
    assert [values["verdict"] for values in found.values()] == [0, 1, 2]
    assert found[1.0]["verdict_p_value"] > 0.01 > 1e-6 > found[1.5]["verdict_p_value"]
    assert set(found[1.0]) == set(Verdict().results())


def test_the_standard_deviation_of_1_34_is_seen():
    """What the regularised maximum likelihood of a normal distribution gave."""
    assert Verdict().judge(view_of(1.34 * normal(1000, 1), normal(1000, 1, seed=1))).level == "mismatch"


def test_float32_data_far_from_the_origin():
    x, y = normal(3000, 2), normal(2000, 2, seed=1)
    assert Verdict().judge(view_of(x + 1000, y + 1000)).level == "match"
    assert Verdict().judge(view_of(1.5 * x + 1000, y + 1000)).level == "mismatch"


def test_draws_of_long_chains_count_as_often_as_they_are_independent():
    """Four chains that never leave one point of the data are few samples, not a thousand."""
    still = normal(4, 1, 2).expand(4, 500, 2) + 1e-3 * normal(4, 500, 2, seed=2)
    slow = normal(4, 500, 2, seed=5).cumsum(1) * 0.05 + still
    y = normal(1000, 2, seed=1)
    for x, most in ((slow, 100), (normal(4, 500, 2, seed=3), 2000)):
        draws = Draws(x, {}, 500, {})
        found = Verdict().judge(view_of(x.flatten(0, 1), y, draws))
        assert UNMIXED <= found.samples <= most
    assert found.level == "match"


def test_chains_that_collapsed_are_judged_although_they_never_moved():
    x = torch.zeros(4, 100, 2)
    found = Verdict().judge(view_of(x.flatten(0, 1), normal(1000, 2), Draws(x, {}, 100, {})))
    assert (found.level, found.samples) == ("mismatch", UNMIXED)


def test_few_points_say_how_little_they_show():
    found = Verdict().judge(view_of(normal(1000, 2), normal(10, 2, seed=1)))
    assert found.level == "match"
    assert found.visible > 0.9
    assert found.held_out == 10
    with pytest.raises(Unmeasurable, match="fewer than 2 held-out points"):
        Verdict().judge(view_of(normal(1000, 2), normal(1, 2)))


def test_spins_are_compared_without_spreads():
    x, y = (normal(2000, 6, seed=seed).sign() for seed in (0, 1))
    view = FakeView(x, y, spec=viewed_spec(model=model_of_spins()), draws=None)
    found = Verdict().judge(view)
    assert found.level == "match"
    view = FakeView(torch.ones_like(x), y, spec=viewed_spec(model=model_of_spins()), draws=None)
    assert Verdict().judge(view).worst.kind == "mean"


def model_of_spins():
    model = model_for()
    traits = model.traits()._replace(space="spin")
    model.traits = lambda: traits
    return model


def test_its_numbers_are_those_of_its_judgement():
    metric = Verdict()
    assert isinstance(metric, Judges)
    judgement = metric.judge(view_of(normal(100, 2), normal(100, 2, seed=1)))
    plain = judgement.plain()
    assert plain["level"] == judgement.level
    assert isinstance(plain["worst"]["columns"], list)
    assert all(math.isfinite(value) for value in metric.numbers(judgement).values())
