"""States that hold copies of a layer."""

from __future__ import annotations

from ebmkit.contracts.kinds import Event


def copied(event: Event, copies: int) -> Event:
    """The shape of this many copies of a state."""
    return event if copies == 1 else (copies, *event)
