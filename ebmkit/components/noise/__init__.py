"""Noise distributions of contrastive objectives, one per file."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """A component class, whose file is imported when it is first asked for."""
    if name.startswith("_"):  # asked for by the import system
        raise AttributeError(name)
    from ebmkit.registry.classes import class_in

    return class_in(__name__, name)


def __dir__() -> list[str]:
    from ebmkit.registry.classes import class_names

    return class_names(__name__)
