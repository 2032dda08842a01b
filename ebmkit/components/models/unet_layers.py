"""Channels and image shapes of U-Nets. Checked without torch."""

from __future__ import annotations

from collections.abc import Sequence

from ebmkit.contracts.kinds import Event

#: Number of groups of channels that are normalised together.
GROUPS = 8


def check_channels(channels: int) -> None:
    """Raise a ValueError unless the channels can be divided into groups."""
    if channels % GROUPS:
        raise ValueError(
            f"'channels' is {channels}, but channels are normalised in {GROUPS} groups: give a multiple of {GROUPS}"
        )


def other_image(event: Event, multipliers: Sequence[int]) -> str | None:
    """Why images of this shape cannot be halved that often, in words that follow a model's name; None if they can."""
    if len(event) != 3:
        return f"takes images of shape (channels, height, width), but a state has shape {event}"
    halvings = len(multipliers) - 1
    for side in event[1:]:
        if side % 2**halvings:
            often = "once" if halvings == 1 else f"{halvings} times"
            return f"halves images {often}, but {side} pixels cannot be; shorten 'multipliers' or resize the images"
    return None
