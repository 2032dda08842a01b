"""Mistakes that authors of plugins make are found by the laws, and what is right is not refused.

The laws are those of `ebmkit plugins check`, each before the component as its author wrote it.
"""

import pytest

from ebmkit.contracts.kinds import KINDS
from ebmkit.testing import Broken, check_component, examine, trials
from tests.testing.mistakes.table import FOUND_BY, MISSED, MISTAKES, RIGHT

QUICK = [made for made in RIGHT if made.component_kind not in ("sampler", "objective")]


def name_of(made):
    return f"{made.component_kind}/{made.component_name}"


def test_every_kind_has_mistakes_and_most_of_them_are_found():
    assert MISTAKES.keys() == FOUND_BY.keys() | MISSED.keys()
    assert {name.partition("/")[0] for name in FOUND_BY} == {*KINDS}
    assert len(FOUND_BY) >= 100
    assert len(MISSED) <= 1


@pytest.mark.parametrize("name", FOUND_BY)
def test_a_mistake_breaks_a_law(name):
    (trial,) = (trial for trial in trials([MISTAKES[name]]) if trial.law.__name__ == FOUND_BY[name])
    with pytest.raises(Broken, match=f"'{name.partition('/')[2]}' breaks '{FOUND_BY[name]}'.* The law: "):
        trial.run()


@pytest.mark.parametrize("made", QUICK, ids=name_of)
def test_what_is_right_is_not_refused(made):
    check_component(made)


@pytest.mark.long
@pytest.mark.parametrize("made", RIGHT, ids=name_of)
def test_what_is_right_and_slow_to_examine_is_not_refused(made):
    check_component(made)


@pytest.mark.long
@pytest.mark.parametrize("name", FOUND_BY)
def test_examined_as_a_whole_a_mistake_is_found(name):
    assert FOUND_BY[name] in examine(MISTAKES[name]).broken


@pytest.mark.long
@pytest.mark.parametrize("name", MISSED)
def test_what_is_missed_is_known(name):
    """If a law finds it one day, it belongs to the others."""
    assert not examine(MISTAKES[name]).broken
