"""The classes of the built-in components by their names: `from ebmkit.components.models import MLP`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from ebmkit.registry.builtin import COMPONENTS
from ebmkit.registry.spelling import did_you_mean


def by_name(package: str) -> tuple[Callable[[str], type[Any]], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the package of a kind: a file is imported when its class is first asked for."""
    return partial(class_in, package), partial(class_names, package)


def class_in(package: str, name: str) -> type[Any]:
    """The class of this name among the components of one kind.

    Only its own file is imported, if it is named after the class, as nearly all are.
    """
    if name.startswith("_"):  # asked for by the import system
        raise AttributeError(name)
    folder = package.rpartition(".")[2]
    files = next(names.split() for place, names in COMPONENTS.values() if place == folder)
    if name[:1].isupper():
        likely = [file for file in files if name.lower().startswith(file.replace("_", ""))]
        for file in sorted(likely, key=len, reverse=True):
            if found := _component(package, file, name):
                return found
        for file in files:
            if found := _component(package, file, name):
                return found
    label = did_you_mean(name, class_names(package)) if name[:1].isupper() else ""
    raise AttributeError(f"module '{package}' has no attribute '{name}'" + (f"; {label}" if label else ""))


def class_names(package: str) -> list[str]:
    """The names of these classes. All files of the kind are imported."""
    folder = package.rpartition(".")[2]
    files = next(names.split() for place, names in COMPONENTS.values() if place == folder)
    return sorted(
        name for file in files for name in vars(import_module(f"{package}.{file}")) if _component(package, file, name)
    )


def _component(package: str, file: str, name: str) -> type[Any] | None:
    """The component that a file defines, if it has this name."""
    module = import_module(f"{package}.{file}")
    found = vars(module).get(name)
    defined = isinstance(found, type) and found.__module__ == module.__name__ and "component_name" in vars(found)
    return found if defined else None
