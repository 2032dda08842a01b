"""Differences between trees."""

import pytest

from ebmkit.language.diff import differences


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b: 1 -> 2"]),
        # A mapping that only one tree has is shown by its leaves, not as a Python dictionary.
        (
            {},
            {"chains": {"count": 4, "init": {"use": "data"}}},
            ["chains.count: absent -> 4", "chains.init.use: absent -> data"],
        ),
        ({"chains": None}, {"chains": {"count": 4}}, ["chains.count: absent -> 4"]),
        ({"a": {"b": 1}}, {"a": 7}, ["a: absent -> 7", "a.b: 1 -> absent"]),
        ({"a": {}}, {}, ["a: {} -> absent"]),
        ({"evaluate": [{"use": "mmd"}]}, {"evaluate": []}, ["evaluate.0.use: mmd -> absent"]),
        ({"evaluate": [{"use": "mmd"}]}, {}, ["evaluate.0.use: mmd -> absent"]),
        # Lists of numbers stay whole unless they have the same length.
        ({"hidden": [1, 2]}, {"hidden": [1, 3]}, ["hidden.1: 2 -> 3"]),
        ({"hidden": [1, 2]}, {"hidden": [1]}, ["hidden: [1, 2] -> [1]"]),
    ],
)
def test_every_leaf_that_differs_has_a_path(before, after, expected):
    assert [str(each) for each in differences(before, after)] == expected
