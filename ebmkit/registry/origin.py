"""Where a component comes from, in words, so that a message about it names whom to ask."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ebmkit.registry.loading import LoadedPlugin


def origin(name: str, loaded: Iterable[LoadedPlugin]) -> str:
    """` of ebmkit-alpha 0.2`, to be put after the name of a component; empty for built-ins and the user's own code."""
    namespace = name.partition(".")[0]
    for each in loaded:
        if "." in name and each.plugin.namespace == namespace and each.plugin.is_packaged:
            return f" of {each.plugin.distribution} {each.plugin.version}"
    return ""
