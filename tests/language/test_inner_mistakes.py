"""A component is never half built: a mistake inside it is one message, whatever stands around it."""

import dataclasses
import json
from typing import get_args, get_origin, get_type_hints

import pytest

from ebmkit.contracts.component import Component, is_kind
from ebmkit.errors import Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.check import check
from ebmkit.language.layers import compose
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry

REGISTRY = Registry(Plugins())

#: Where a spec has a component of each kind.
HOMES = {
    "data": lambda it: {"data": it},
    "model": lambda it: {"model": it},
    "objective": lambda it: {"objective": it, "train": {"steps": 1}},
    "sampler": lambda it: {"sampler": it},
    "init": lambda it: {"init": it},
    "noise": lambda it: {"objective": {"use": "nce", "noise": it}, "train": {"steps": 1}},
    "schedule": lambda it: {"model": {"use": "mlp_score", "schedule": it}},
    "bregman": lambda it: {"objective": {"use": "bregman", "generator": it}, "train": {"steps": 1}},
    "metric": lambda it: {"evaluate": [it]},
    "optimizer": lambda it: {"train": {"steps": 1, "optimizer": it}},
    "tracker": lambda it: {"trackers": [it]},
}


def kinds_in(hint):
    if isinstance(hint, type) and issubclass(hint, Component) and is_kind(hint):
        return [hint.component_kind]
    return [kind for argument in get_args(hint) for kind in kinds_in(argument)]


def is_list(hint):
    return get_origin(hint) is tuple or any(is_list(argument) for argument in get_args(hint))


INNER = [
    (entry, field.name, kind, is_list(hint))
    for entry in REGISTRY.entries()
    for field in dataclasses.fields(entry.cls)
    for hint in [get_type_hints(entry.cls, include_extras=True)[field.name]]
    for kind in kinds_in(hint)
]

#: What may be wrong inside -> the value that stands there, given a component of the right kind.
WRONG = {
    "part with a wrong parameter": lambda name: "$wrong",
    "plugin that is not installed": lambda name: "absent.thing",
    "unknown name": lambda name: "no_component_is_called_this",
    "wrong parameter": lambda name: {"use": name, "no_such_parameter": 1},
}


def test_the_components_named_in_the_defect_are_among_them():
    found = {entry.name for entry, *_ in INNER}
    assert {"from_model", "persistent", "adversarial_ce", "explicit_score_matching", "parallel_tempering"} <= found


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("inner", INNER, ids=lambda inner: f"{inner[0].kind}-{inner[0].name}-{inner[1]}")
def test_a_wrong_inner_part_is_one_message(inner, wrong):
    entry, field, kind, listed = inner
    name = REGISTRY.names(kind)[0]
    value = WRONG[wrong](name)
    spec = {"ebmkit": 1, "model": "mlp"}
    spec |= HOMES[entry.kind]({"use": entry.name, field: [value] if listed else value})
    if value == "$wrong":
        spec["parts"] = {"wrong": {"use": name, "no_such_parameter": 1}}
    if value == "absent.thing":
        spec["plugins"] = {"absent": "ebmkit-absent>=1"}
    with pytest.raises(Mistakes) as caught:
        check(compose(Source("spec", json.dumps(spec))), REGISTRY)
    (mistake,) = caught.value.mistakes
    assert "NoneType" not in mistake.message
    assert mistake.place is not None
