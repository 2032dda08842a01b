"""The models that a plugin brings, as partners for its other components."""

from __future__ import annotations

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Model
from ebmkit.registry.plugin_modules import plugin_modules
from ebmkit.testing.example import instance


def models_near(component: Component) -> tuple[list[Model], list[str]]:
    """An instance of each model of the plugin that a component is from, and why others could not be made.

    These are the models of its module first, then those of the packages around it, then those of every module of the
    same top-level package that has been imported.
    """
    made: dict[type[Model], Model] = {}
    failed: dict[type[Model], str] = {}
    for cls in _classes_near(type(component)):
        if cls in made or cls in failed:
            continue
        try:
            model = instance(cls)
        except Exception as error:  # whatever a plugin raises: another model may do
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            failed[cls] = f"model '{cls.component_name}' of its plugin cannot be made from its example ({reason})"
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
