"""A component as a plugin offers it: known by kind and name before its code is imported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ebmkit.contracts.component import Component


@dataclass(frozen=True)
class Offer:
    """A component that is imported when a spec first names it.

        Offer("sampler", "langevin", load)

    `load()` gives the class, which has this kind and this name.
    """

    kind: str
    name: str
    load: Callable[[], type[Component]]
    #: The first sentence of its docstring, if that can be had without importing it.
    summarise: Callable[[], str | None] | None = None
