"""What a law is: a function that raises when a component breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest import SkipTest

if TYPE_CHECKING:
    from ebmkit.testing.case import Case

#: `law(component, case)`. Its name is the law's name, its docstring the law in one sentence.
Law: TypeAlias = Callable[[Any, "Case"], None]


class Inapplicable(SkipTest):
    """The law says nothing about this component in this case, and why. To pytest and unittest it is a skipped test."""


def require(holds: object, seen: str) -> None:
    """Raise what was seen instead. Who broke which law is added by whoever runs it."""
    if not holds:
        raise AssertionError(seen)
