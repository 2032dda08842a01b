"""The laws of each kind: one kind per file or package, named after it, with a tuple `LAWS`."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from ebmkit.testing.law import Law


def laws_of(kind: str) -> tuple[Law, ...]:
    """The laws of a kind, those of every component first."""
    of_all: tuple[Law, ...] = import_module("ebmkit.testing.laws.every_kind").LAWS
    return of_all + own_laws_of(kind)


def own_laws_of(kind: str) -> tuple[Law, ...]:
    """The laws of a kind without those of every component."""
    file = f"ebmkit.testing.laws.{kind}"
    of_kind: tuple[Law, ...] = import_module(file).LAWS if find_spec(file) else ()  # a new kind may have none
    return of_kind
