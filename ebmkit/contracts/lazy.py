"""Modules that are imported on first use, so that everything before *build* starts without torch."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any


class LazyModule(ModuleType):
    """A stand-in for a module that imports it at the first attribute access."""

    def __getattr__(self, attribute: str) -> Any:
        # Import machinery and inspection look up dunder names, which must not trigger the import.
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        found = getattr(importlib.import_module(self.__name__), attribute)
        setattr(self, attribute, found)  # cached, since inside a chain the cost of the import statement is noticeable
        return found


if TYPE_CHECKING:
    import torch
else:
    torch = LazyModule("torch")

__all__ = ["LazyModule", "torch"]
