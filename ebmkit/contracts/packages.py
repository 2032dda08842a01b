"""Optional packages: which components need them, and whether they are installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from ebmkit.contracts.component import Component
from ebmkit.contracts.walk import walk
from ebmkit.errors.running import EnvironmentLacks
from ebmkit.errors.source import Path


def lacking(value: Any, path: Path = ()) -> Iterator[tuple[Path, Component, str]]:
    """Components of a spec, or of a component at `path`, that need packages which are not installed: the path of each,
    the component, and the package."""
    for at, component in walk(value, path):
        for package in component.needs_packages:
            if find_spec(package.partition(".")[0]) is None:  # of the top level: this imports nothing
                yield at, component, package


def package_missing(component: Component, package: str, name: str = "") -> EnvironmentLacks:
    """The error for a component, known as `name` in a spec, without its package."""
    return EnvironmentLacks(
        f"{component.component_kind} '{name or component.component_name}' needs the package '{package}', which is not "
        "installed",
        help=f"pip install '{component.needs_packages[package]}'",
    )
