"""An offer of a component: its kind and name are known before its code is imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ebmkit.contracts.component import Component


@dataclass(frozen=True)
class Offer:
    """A component that is imported when a spec first names it.

        Offer("sampler", "langevin", load)

    `load()` returns the class, which must have this kind and this name.
    """

    kind: str
    name: str
    load: Callable[[], type[Component]]
    #: The first sentence of its docstring, if it is known without importing the class.
    summarise: Callable[[], str | None] | None = None
