"""What a component is and needs is read through `traits()`, because parameters may decide it."""

import ast
from pathlib import Path

import ebmkit
from ebmkit.components.models.boltzmann import Boltzmann
from ebmkit.components.models.mixture import Mixture
from ebmkit.components.models.ring import Ring
from ebmkit.contracts.kinds import Sampler
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry

PACKAGE = Path(ebmkit.__file__).parent

#: Class variables that hold traits, as far as no other class has an attribute of that name.
TRAITS = {"offers", "needs", "spaces", "noise_needs", "needs_labels", "from_noise", "least_chains"}
#: Names of owners that are not components: traits themselves, and plugins with what they offer.
OTHERS = {"self", "cls", "traits", "inner", "model", "each", "entry", "plugin", "loaded"}


def is_read_through_traits(node):
    owner = node.value
    if isinstance(owner, ast.Call):
        function = owner.func
        return (function.attr if isinstance(function, ast.Attribute) else function.id) in ("traits", "load", "super")
    return isinstance(owner, ast.Name) and owner.id in OTHERS


def test_nothing_reads_a_class_variable_of_an_instance():
    wrong = [
        f"{path.relative_to(PACKAGE)}:{node.lineno} .{node.attr}"
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "registry"  # whose plugins have offers
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in TRAITS and not is_read_through_traits(node)
    ]
    assert wrong == []


def test_parameters_decide():
    assert Boltzmann(values="spin").traits().space == "spin"
    assert "log_z" in Mixture(components=(Ring(),)).traits().offers
    assert Mixture.offers == {"energy"}  # what the class says of all


def test_nothing_is_set_after_construction():
    for path in PACKAGE.rglob("*.py"):
        assert "object.__setattr__" not in path.read_text(), path


def test_samplers_name_their_schedule_and_temperature():
    registry = Registry(Plugins())
    for name in registry.names("sampler"):
        cls = registry.find("sampler", name)
        assert issubclass(cls, Sampler)
        fields = {field for field in cls.__dataclass_fields__ if field in ("schedule", "temperature")}
        for field in fields:
            assert getattr(cls().traits(), field) == getattr(cls(), field), name
