"""Suggestions for misspelt words."""

import pytest

from ebmkit.registry.spelling import nearest

OPTIMIZERS = ["adadelta", "adagrad", "adam", "adamax", "adamw", "nadam", "radam"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("adma", "adam"),  # two letters exchanged, which shares more letters with adamax
        ("daam", "adam"),
        ("Adam", "adam"),
        ("adamaxx", "adamax"),
        ("adagard", "adagrad"),
        ("nadm", "nadam"),
        ("sgd", None),
    ],
)
def test_the_word_with_the_fewest_typing_errors_is_meant(typed, meant):
    assert nearest(typed, OPTIMIZERS) == meant
