"""Modules that load when first used, so that everything before *build* starts without torch."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any


class LazyModule(ModuleType):
    """Stands for a module and imports it at the first attribute access."""

    def __getattr__(self, attribute: str) -> Any:
        # Import machinery and inspection probe dunder names; those must not load anything.
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        found = getattr(importlib.import_module(self.__name__), attribute)
        setattr(self, attribute, found)  # found here from now on: inside a chain the way through the import shows
        return found


if TYPE_CHECKING:
    import torch
else:
    torch = LazyModule("torch")

__all__ = ["LazyModule", "torch"]
