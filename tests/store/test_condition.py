"""Conditions on runs."""

import pytest

from ebmkit.store.condition import Condition
from ebmkit.store.entry import Entry
from tests.store.made_up import made_up


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("objective=nce", True),
        ("objective == nce", True),
        ("objective=*_nce", False),
        ("objective=n*", True),
        ("objective!=mle", True),
        ("seed=1", True),
        ("seed=1.0", True),
        ("seed>=1", True),
        ("seed>1", False),
        ("kl_divergence<0.2", True),
        ("kl_divergence<1e-3", False),
        ("train.optimizer.lr<=0.1", True),
        ("model.hidden=[64,64]", True),
        ("model.hidden=[64]", False),
        ("deterministic=false", True),
        ("deterministic!=false", False),
        ("started<2026-11-20", True),
        ("status!=finished", False),
        ("objective<5", False),  # a text is not ordered by a number
        ("seed<b", False),
        ("mmd<1", False),  # nor is what it does not have
        ("mmd!=1", False),
    ],
)
def test_a_condition(tmp_path, text, holds):
    assert Condition.parse(text).holds(Entry(made_up(tmp_path, 1))) is holds


@pytest.mark.parametrize("text", ["", "objective", "=nce", "seed=", "a b=1"])
def test_text_that_is_no_condition_is_refused(text):
    with pytest.raises(ValueError, match="is not a condition such as"):
        Condition.parse(text)
