"""The laws of each kind: one kind per file, named after it, with a tuple `LAWS`."""

from __future__ import annotations

from importlib import import_module

from ebmkit.testing.law import Law


def laws_of(kind: str) -> tuple[Law, ...]:
    """The laws of a kind, those of every component first."""
    of_all: tuple[Law, ...] = import_module("ebmkit.testing.laws.every_kind").LAWS
    of_kind: tuple[Law, ...] = import_module(f"ebmkit.testing.laws.{kind}").LAWS
    return of_all + of_kind
