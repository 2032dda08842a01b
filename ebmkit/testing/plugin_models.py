"""The models of a plugin, as partners for its other components."""

from __future__ import annotations

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Model
from ebmkit.contracts.plugin_modules import plugin_modules
from ebmkit.errors.describe import describe_error
from ebmkit.testing.example import instance


def models_near(component: Component) -> tuple[list[Model], list[str]]:
    """An instance of each model of the component's plugin, and the reasons why others could not be created.

    These are the models of its module first, then those of the enclosing packages, then those of all imported modules
    of the same top-level package.
    """
    made: dict[type[Model], Model] = {}
    failed: dict[type[Model], str] = {}
    for cls in _classes_near(type(component)):
        if cls in made or cls in failed:
            continue
        try:
            model = instance(cls)
        except Exception as error:  # a plugin may raise anything; another model may fit
            reason = describe_error(error)
            failed[cls] = f"model '{cls.component_name}' of its plugin cannot be created from its example ({reason})"
        else:
            assert isinstance(model, Model)
            made[cls] = model
    return list(made.values()), list(failed.values())


def _classes_near(cls: type[Component]) -> list[type[Model]]:
    return [
        value
        for module in plugin_modules(cls.__module__)
        for value in list(vars(module).values())
        if isinstance(value, type) and issubclass(value, Model) and "component_name" in vars(value)
    ]
