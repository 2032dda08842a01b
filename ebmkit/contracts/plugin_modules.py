"""The modules of the plugin that a class comes from."""

from __future__ import annotations

import sys
from types import ModuleType


def plugin_modules(name: str) -> list[ModuleType]:
    """The module `name`, the packages around it from the inside out, and the imported rest of its top-level package.

    Empty for the modules of ebmkit itself, whose components and abilities are registered.
    """
    parts = name.split(".")
    if parts[0] == "ebmkit":
        return []
    around = [".".join(parts[:depth]) for depth in range(len(parts), 0, -1)]
    rest = sorted(other for other in list(sys.modules) if other.startswith(f"{parts[0]}."))
    return [sys.modules[each] for each in dict.fromkeys([*around, *rest]) if each in sys.modules]
