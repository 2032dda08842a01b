"""The interface of a law: a function that raises if a component breaks it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest import SkipTest

if TYPE_CHECKING:
    from ebmkit.testing.case import Case

#: `law(component, case)`. The name of the function is that of the law, its docstring states it in one sentence. It may
#: return what it says about its own precision, such as the smallest mistake that it would have seen.
Law: TypeAlias = Callable[[Any, "Case"], str | None]


class Inapplicable(SkipTest):
    """The law does not apply to this component in this case, and why. pytest and unittest count it as skipped."""


class ExpectedFailure(SkipTest):
    """A component breaks a law as its author expects. unittest counts it as skipped, pytest as an expected failure."""


def require(holds: object, seen: str) -> None:
    """Raise with what was observed instead. The caller adds component and law."""
    if not holds:
        raise AssertionError(seen)
