"""Kinds whose components build an object, and the check that it is of the promised type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any

from ebmkit.contracts.component import Component

#: The attribute of a module that holds the component that built it.
BUILDER = "built_by"


class WrongBuild(TypeError):
    """A method of a component returned something else than its kind promises."""


class Builder(Component, ABC):
    """The base class of kinds with a method `build`.

    The type of what it returns is checked in every call, also in those of other components: an objective builds its
    noise itself. The error is raised in a method of the component at fault, and so reported at the line of that one.
    Modules remember the component that built them, so that errors in their `prepare` are reported at its line, too.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "build" in vars(cls):
            setattr(cls, "build", _checked(vars(cls)["build"]))  # noqa: B010  # mypy forbids assigning to a method

    @abstractmethod
    def builds(self) -> type:
        """The type that is promised."""

    def check_built(self, built: Any) -> None:
        """Raise an error unless `built` is what this kind promises."""
        check_type(built, self.builds(), "build")


def check_type(built: Any, promised: type, method: str) -> None:
    """Raise `WrongBuild` unless `built` is an instance of `promised`."""
    if not isinstance(built, promised):
        raise WrongBuild(
            f"'{method}' returned an object of type {type(built).__name__}, "
            f"but an instance of {promised.__name__} is expected"
        )


def builder_of(module: Any) -> Component | None:
    """The component that built a module, or the module that contains it; None for other objects."""
    found = getattr(module, "__dict__", {}).get(BUILDER)
    return found if isinstance(found, Component) else None


def _note_builder(built: Any, component: Component) -> None:
    """Modules that were built by a component inside `component` already have theirs."""
    if callable(modules := getattr(built, "modules", None)):
        for module in modules():
            vars(module).setdefault(BUILDER, component)


def _checked(build: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(build)
    def build_and_check(self: Builder, *args: Any, **kwargs: Any) -> Any:
        built = build(self, *args, **kwargs)
        self.check_built(built)
        _note_builder(built, self)
        return built

    return build_and_check
