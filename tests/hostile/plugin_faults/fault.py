"""A kind of fault of a plugin: what its distribution contains, and what is to be said of it."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

#: The spec that uses the generator of a plugin; the name of the generator stands in line 5.
SPEC = """\
ebmkit: 1
data: {{use: two_moons, size: 64, test_size: 32}}
model: {{use: mlp, hidden: [4]}}
objective: {{use: bregman, noise: gaussian,
  generator: {generator}}}
train: {{steps: 2, batch_size: 16}}
"""

HEAD = """
from typing import Annotated, Any, Callable, ClassVar, Literal
from dataclasses import field
from annotated_types import Gt, Ge
from ebmkit.api import Bregman, Data, Metric, Model, Objective, Sampler, Schedule, Tracker, component, hookimpl, torch
"""

SQUARE = (
    HEAD
    + '''
@component("square")
class Square(Bregman):
    """psi(u) = u^2."""

    def psi(self, u):
        return u * u
'''
)


@dataclass(frozen=True)
class Fault:
    """One kind of fault.

    `when` it shows: `metadata` (in `plugins`, without importing), `load` (in `plugins --load`), `spec` (at the line of
    a spec, by `validate`), `run` (at the line of a spec, by `run`), `warning` (in the log of a run that finishes),
    `note` (it can be used, but its import changed the process), or `never` (it does no harm).
    """

    code: str | bytes | None = SQUARE
    reason: str = ""
    when: str = "load"
    #: The spec that needs the plugin.
    spec: str = SPEC.format(generator="NAMESPACE.square")
    entry_points: str | bytes = "[ebmkit]\nNAMESPACE = MODULE\n"
    metadata: str | bytes | None = (
        "Metadata-Version: 2.1\nName: DISTRIBUTION\nVersion: 1.0\nRequires-Dist: ebmkit-core>=0.1\n"
    )
    #: Further files of the distribution.
    files: dict[str, str | bytes] = field(default_factory=dict)
    #: The exit status of the verb that shows it.
    status: int = 3
    #: How the distribution is shown, if not by its name.
    shown: str = "DISTRIBUTION"
    #: Whether a second distribution has the same entry points.
    twin: bool = False


def imported(code: str) -> str:
    """A plugin that does something when it is imported, before it defines a component."""
    return textwrap.dedent(code) + SQUARE


UNPRINTABLE = """
class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("not even this")
    __repr__ = __str__
"""
