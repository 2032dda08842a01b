"""How each built-in component is named and documented. What it does is the business of `tests/testing/laws`."""

import dataclasses
import re

import pytest

from ebmkit.contracts.kinds import KINDS
from ebmkit.registry.builtin import ebmkit_components
from ebmkit.testing.example import from_example

COMPONENTS = [offer.load() for offer in ebmkit_components()]
every = pytest.mark.parametrize("cls", COMPONENTS, ids=lambda c: f"{c.component_kind}-{c.component_name}")


def test_names_are_unique_within_a_kind():
    names = [(cls.component_kind, cls.component_name) for cls in COMPONENTS]
    assert len(set(names)) == len(names)


#: They compare with the truth, which has no default: a wrong one gives numbers that mean nothing.
TRUTH_WANTED = {"fisher_divergence", "score_error"}


@every
def test_a_bare_name_in_a_spec_is_enough(cls):
    if cls.component_name in TRUTH_WANTED:
        with pytest.raises(TypeError, match="target"):
            cls()
    else:
        assert cls() == cls()


@every
def test_inherits_from_its_kind_and_from_nothing_between(cls):
    assert cls.__bases__ == (KINDS[cls.component_kind],)


@every
def test_docstring_explains_every_parameter(cls):
    section = re.search(r"\n    Parameters:\n((?:        .+\n)+)", cls.__doc__)
    explained = re.findall(r"^        (\w+): ", section.group(1), re.MULTILINE) if section else []
    assert sorted(explained) == sorted(f.name for f in dataclasses.fields(cls))
    assert "\n    Reference: " in cls.__doc__


@every
def test_example_makes_the_component(cls):
    assert type(from_example(cls)) is cls
