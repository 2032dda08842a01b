"""What holds for each built-in component, whatever its kind."""

import dataclasses
import re
import typing

import pytest
from ruamel.yaml import YAML

from ebmkit.builtin import ebmkit_components
from ebmkit.kinds import KINDS

COMPONENTS = [offer.load() for offer in ebmkit_components()]
every = pytest.mark.parametrize("cls", COMPONENTS, ids=lambda c: f"{c.component_kind}-{c.component_name}")


def test_names_are_unique_within_a_kind():
    names = [(cls.component_kind, cls.component_name) for cls in COMPONENTS]
    assert len(set(names)) == len(names)


@every
def test_defaults_make_an_instance_that_is_frozen_and_hashable(cls):
    one = cls()
    assert hash(one) == hash(cls())
    assert one == cls()
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.anything = 1


@every
def test_subclasses_its_kind_directly(cls):
    assert cls.__bases__ == (KINDS[cls.component_kind],)


@every
def test_docstring_explains_every_parameter(cls):
    section = re.search(r"\n    Parameters:\n((?:        .+\n)+)", cls.__doc__)
    explained = re.findall(r"^        (\w+): ", section.group(1), re.MULTILINE) if section else []
    assert sorted(explained) == sorted(f.name for f in dataclasses.fields(cls))
    assert "\n    Reference: " in cls.__doc__


def _find_use(node, name):
    if isinstance(node, list):
        return next((found for entry in node if (found := _find_use(entry, name)) is not None), None)
    if node == name:
        return {}
    if isinstance(node, dict) and node.get("use") == name:
        return {key: value for key, value in node.items() if key != "use"}
    return None


def _tuples(value):
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


@every
def test_example_is_a_spec_fragment_that_uses_the_component(cls):
    text = re.search(r"\n    Example: (.+)\n", cls.__doc__).group(1)
    fragment = YAML(typ="safe").load(text)
    ((_, node),) = fragment.items()
    parameters = _find_use(node, cls.component_name)
    assert parameters is not None
    fields = {f.name for f in dataclasses.fields(cls)}
    assert parameters.keys() <= fields
    plain = {k: _tuples(v) for k, v in parameters.items() if k not in ("sampler", "init", "noise", "generator")}
    cls(**plain)


@every
def test_annotations_resolve_without_help(cls):
    assert typing.get_type_hints(cls, include_extras=True)
