"""`--set` and `--unset`."""

import pytest

from ebmkit.errors import Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.layers import compose
from tests.language.specs import SMALL, mistakes_of


def test_unset_comes_before_set():
    assert compose(Source("s", "seed: 1\n"), ["seed=2"], ["seed"]).plain() == {"seed": 2}


def test_mistakes_of_the_text_and_of_flags_are_told_together(tmp_path):
    found = mistakes_of(SMALL + "seed: 1_000\n", tmp_path, sets=["evaluate.9=mmd"])
    assert [mistake.code for mistake in found] == ["E009", "E013"]


def test_setting_a_value_inside_a_section_leaves_the_sections_key_where_it_is():
    root = compose(Source("s", "train: {steps: 1}\n"), ["train.steps=2"])
    assert str(root.value["train"].key) == "s:1:1"
    assert str(root.value["train"].value["steps"].key) == "--set[1]:1:7"


def test_something_is_appended_to_a_key_without_a_value():
    assert compose(Source("s", "evaluate:\n"), ["evaluate+=mmd"]).plain() == {"evaluate": ["mmd"]}


def test_a_misspelt_unset_is_answered():
    with pytest.raises(Mistakes) as caught:
        compose(Source("s", "seed: 1\n"), (), ["sead"])
    assert caught.value.mistakes[0].label == "did you mean 'seed'?"


def test_unset_reaches_into_an_item_of_a_list():
    root = compose(Source("s", "evaluate: [{use: mmd, samples: 5}, ess]\n"), (), ["evaluate[0].samples"])
    assert root.plain() == {"evaluate": [{"use": "mmd"}, "ess"]}


def test_a_value_may_hold_an_equals_sign():
    assert compose(Source("s", "a: 1\n"), ['b="x=y"']).plain() == {"a": 1, "b": "x=y"}
