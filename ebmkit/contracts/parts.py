"""The parts of a model that stages of training can train by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ebmkit.contracts.kinds.model import Model
    from ebmkit.contracts.states import Event


class Part(NamedTuple):
    """A part of a model: a model itself, on states that the part sees in place of the data."""

    name: str
    model: Model
    #: Shape of one state of the part.
    event: Event


def find_part(parts: tuple[Part, ...], wanted: int | str) -> Part | None:
    """The part of this number, counted from 1, or of this name; None if there is none."""
    if isinstance(wanted, int):
        return parts[wanted - 1] if 0 < wanted <= len(parts) else None
    return next((part for part in parts if part.name == wanted), None)
