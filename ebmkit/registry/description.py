"""What the verbs show of a component, as plain data. For a plugin it is made when the plugin is loaded, so that an odd
class is refused there, and `list`, `show` and `schema` never run code of a plugin."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from ebmkit.registry.reference import Page, page


@dataclass(frozen=True)
class Description:
    """The reference page of a component, the abilities that it offers, and the JSON Schema of its parameters."""

    page: Page
    abilities: tuple[str, ...]
    schema: dict[str, Any]


@cache
def describe(cls: type[Any]) -> Description:
    """The description of a component. It may raise anything if the class was not checked."""
    from ebmkit.registry.parameter_schema import parameter_schema  # imports pydantic

    # Written and read again, so that nothing in it is an object of the plugin.
    schema = json.loads(json.dumps(parameter_schema(cls), allow_nan=False))
    return Description(page(cls), tuple(sorted(map(str, getattr(cls, "offers", ())))), schema)
