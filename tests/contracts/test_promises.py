"""What authors are promised is all that our own components use."""

import ast
import inspect
from pathlib import Path

import pytest

import ebmkit
from ebmkit.chains import energy, heated, rescaled
from ebmkit.chains.context import StepContext
from ebmkit.contracts.context import Context
from ebmkit.contracts.energy import Energy
from ebmkit.contracts.view import View, ViewedSpec
from ebmkit.engine.run_view import RunView
from ebmkit.language.sections import Spec

COMPONENTS = Path(ebmkit.__file__).parent / "components"


def members(protocol):
    return {name for name in {*vars(protocol), *protocol.__annotations__} if not name.startswith("_")}


def attributes_of(name, folder=""):
    """Every `name.attribute` in a component, with the file that has it."""
    for path in (COMPONENTS / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
                yield path.name, node.attr


@pytest.mark.parametrize(
    ("name", "protocol", "folder"), [("view", View, ""), ("context", Context, ""), ("energy", Energy, "samplers")]
)
def test_components_use_what_is_promised_and_nothing_else(name, protocol, folder):
    used = list(attributes_of(name, folder))
    assert len(used) > 10
    assert [(file, attribute) for file, attribute in used if attribute not in members(protocol)] == []


ENERGIES = (energy.Energy, heated.HeatedEnergy, rescaled.RescaledEnergy)


@pytest.mark.parametrize(
    ("cls", "protocol"), [(RunView, View), (StepContext, Context), *((cls, Energy) for cls in ENERGIES)]
)
def test_the_methods_of_the_engine_take_the_arguments_that_are_promised(cls, protocol):
    methods = [
        name for name, value in list(vars(protocol).items()) if inspect.isfunction(value) and name in members(protocol)
    ]
    assert methods
    for name in methods:
        ours, promised = (list(inspect.signature(getattr(each, name)).parameters) for each in (cls, protocol))
        assert ours == promised, name


def test_a_spec_has_what_a_view_promises_of_it():
    assert {
        name for name in members(ViewedSpec) if not hasattr(Spec, name) and name not in Spec.__annotations__
    } == set()
