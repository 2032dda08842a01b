"""Which laws there are."""

from __future__ import annotations

from importlib import import_module

from ebmkit.testing.law import Law

#: Kind -> the file that holds its laws.
_FILES = {
    "data": "data",
    "model": "models",
    "objective": "objectives",
    "sampler": "samplers",
    "init": "inits",
    "noise": "noise",
    "schedule": "schedules",
    "bregman": "bregman",
    "metric": "metrics",
    "optimizer": "optimizers",
    "tracker": "trackers",
}


def laws_of(kind: str) -> tuple[Law, ...]:
    """The laws of a kind, those of every component first."""
    of_all: tuple[Law, ...] = import_module("ebmkit.testing.components").LAWS
    of_kind: tuple[Law, ...] = import_module(f"ebmkit.testing.{_FILES[kind]}").LAWS
    return of_all + of_kind
