"""Text to tree."""

import math

import pytest

from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.text import MAX_BYTES, MAX_DEPTH, MAX_NODES, parse, plain_scalar, read
from tests.language.specs import SMALL, mistakes_of


def tree(text):
    return parse(Source("spec.yaml", text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("1E5", 1e5),
        (".5", 0.5),
        ("1.", 1.0),
        ("-3", -3),
        ("+3", 3),
        ("0", 0),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("on", "on"),
        ("no", "no"),
        ("~", None),
        ("", None),
        ("null", None),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("inf", "inf"),
        ("1:30", "1:30"),
        ("v1_2", "v1_2"),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_unquoted_words_mean_what_yaml_1_2_says(text, value):
    found = plain_scalar(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["1_000", "1_0.5", "010", "-007", "0x1F", "0o17", "2024-01-01", "1e999", "9" * 30])
def test_what_readers_disagree_about_is_refused(text):
    with pytest.raises((ValueError, OverflowError), match=text[:4]):
        plain_scalar(text)


def test_every_key_and_value_knows_its_place():
    root = tree("a: 1\nb:\n  - {c: xyz, d: [2, 3]}\n")
    item = root.value["b"].value[0]
    assert (item.place.line, item.place.column) == (3, 5)
    word = item.value["c"]
    assert (word.key.line, word.key.column, word.key.length) == (3, 6, 1)
    assert (word.place.line, word.place.column, word.place.length) == (3, 9, 3)
    assert root.plain() == {"a": 1, "b": [{"c": "xyz", "d": [2, 3]}]}


def test_columns_count_characters_and_not_bytes():
    root = tree("ä: {ö: ü, key: value}\r\nnext: 1\r\n")
    assert root.value["ä"].value["key"].place.column == 16
    assert root.value["next"].place.line == 2


def test_an_alias_copies_and_keeps_the_place_of_what_it_copies():
    root = tree("a: &x {k: 1}\nb: *x\n")
    assert root.plain()["b"] == {"k": 1}
    assert root.value["b"].value["k"].place.line == 1
    assert root.value["b"].key.line == 2


def test_mistakes_that_leave_the_structure_intact_are_all_found():
    with pytest.raises(Mistakes) as caught:
        tree("a: 1_000\nb: !!str x\nc: 1\nc: 2\n3: d\n")
    found = [(mistake.code, mistake.place.line) for mistake in caught.value.mistakes]
    assert found == [("E009", 1), ("E005", 2), ("E008", 4), ("E007", 5)]


def test_bounds_are_the_last_size_that_is_read(tmp_path):
    assert tree("[" * MAX_DEPTH + "]" * MAX_DEPTH).depth == MAX_DEPTH
    assert tree(f"[{'1,' * (MAX_NODES - 1)}]").size == MAX_NODES
    for text in ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), f"[{'1,' * MAX_NODES}]"):
        with pytest.raises(Mistakes) as caught:
            tree(text)
        assert [mistake.code for mistake in caught.value.mistakes] == ["E002"]
    path = tmp_path / "spec.yaml"
    path.write_bytes(b"#" * MAX_BYTES)
    assert len(read(str(path)).text) == MAX_BYTES
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(EbmkitError, match="at most"):
        read(str(path))


def test_a_node_knows_its_size_with_keys_and_aliases():
    root = tree("a: &x {k: 1, l: [2, 3]}\nb: *x\n")
    assert root.value["a"].size == 7  # itself, two keys, 1, the list and its two entries
    assert root.size == 1 + 2 + 2 * 7


def test_the_other_place_is_shown():
    with pytest.raises(Mistakes) as caught:
        tree("seed: 1\nname: x\nseed: 2\n")
    assert str(caught.value.mistakes[0].other) == "spec.yaml:1:1"
    with pytest.raises(Mistakes) as caught:
        tree("model: {use: mlp\nsampler: x\n")
    assert str(caught.value.mistakes[0].other) == "spec.yaml:1:8"


def test_of_a_key_that_stands_twice_the_first_is_checked_on(tmp_path):
    found = mistakes_of(SMALL + "seed: 1\nseed: x\n", tmp_path)
    assert [mistake.code for mistake in found] == ["E008"]


def test_what_was_wrong_before_the_reading_stopped_is_told_too():
    with pytest.raises(Mistakes) as caught:
        tree("a: 1_000\nb: {c: 1 d: 2}\n")
    assert [mistake.code for mistake in caught.value.mistakes] == ["E009", "E004"]


def test_a_comment_is_not_underlined():
    assert tree("c: [1,   # why\n  2]\n").value["c"].place.length == 3
