"""Kinds of faults of plugins: what each distribution contains, and what is to be said of it.

A crash of the interpreter and an import that never ends cannot be prevented inside a process; verbs that show
everything import plugins in another one (`APART`). Out of scope: malice (SECURITY.md).
"""

from __future__ import annotations

from .apart import APART
from .components import COMPONENTS
from .fault import SPEC, SQUARE, Fault, imported
from .hooks import HOOKS
from .imports import IMPORT
from .metadata import METADATA

__all__ = ["APART", "FAULTS", "SPEC", "SQUARE", "Fault", "imported"]

#: All faults that are found before a component is used.
FAULTS = METADATA | IMPORT | HOOKS | COMPONENTS
