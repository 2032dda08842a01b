"""Annotations in words."""

from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Interval, Le, Len, Lt, MinLen

from ebmkit.api import Noise, Objective
from ebmkit.language.sections import Spec, Train
from ebmkit.registry.words import step_into, words


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, "an integer"),
        (bool, "true or false"),
        (Annotated[float, Gt(0), Le(1)], "a number, greater than 0 and at most 1"),
        (Annotated[int, Interval(ge=1, lt=5)], "an integer, at least 1 and less than 5"),
        (Annotated[int, Ge(1)] | Literal["auto"], "an integer, at least 1, or 'auto'"),
        (Literal["a", "b"] | None, "'a' or 'b' or null"),
        (tuple[int, ...], "a list of integers"),
        (tuple[float, float], "a list of 2 numbers"),
        (tuple[int, str], "a list of an integer and a string"),
        (tuple[Annotated[int, Ge(1)], ...], "a list of integers, each at least 1"),
        (Annotated[tuple[float, ...], MinLen(1)], "a non-empty list of numbers"),
        (
            Annotated[tuple[float, ...], Len(2, 3)],
            "a list of numbers, with at least 2 entries and with at most 3 entries",
        ),
        (Annotated[int, Lt(2**63)], "an integer, less than 2^63"),
        (dict[str, float], "a mapping of numbers"),
        (Objective, "an objective"),
        (tuple[Noise, ...], "a list of noise distributions"),
        (Train | None, "a mapping or null"),
    ],
)
def test_words(hint, expected):
    assert words(hint) == expected


def test_stepping_into_annotations():
    assert step_into(Spec, "seed") is not None
    assert step_into(step_into(Spec, "train"), "steps") == Annotated[int, Ge(1)]
    assert step_into(tuple[int, str], 1) is str
    assert step_into(tuple[int, ...], 7) is int
    assert step_into(dict[str, float], "any") is float
    assert step_into(int, "any") is None
