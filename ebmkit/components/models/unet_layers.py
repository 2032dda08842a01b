"""Channels and image shapes of U-Nets. Checked without torch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ebmkit.contracts.kinds import Event
from ebmkit.maths.parameter_counts import convolution, linear, noise_embedding

#: Number of groups of channels that are normalised together.
GROUPS = 8


def check_channels(channels: int) -> None:
    """Raise a ValueError unless the channels can be divided into groups."""
    if channels % GROUPS:
        raise ValueError(
            f"'channels' is {channels}, but channels are normalised in {GROUPS} groups: give a multiple of {GROUPS}"
        )


def other_image(event: Event, channels: int, multipliers: Sequence[int]) -> str | None:
    """Why images of this shape cannot be halved that often, in words that follow a model's name; None if they can."""
    if len(event) != 3:
        return f"takes images of shape (channels, height, width), but a state has shape {event}"
    halvings = len(multipliers) - 1
    for side in event[1:]:
        if side % 2**halvings:
            often = "once" if halvings == 1 else f"{halvings} times"
            return f"halves images {often}, but {side} pixels cannot be; shorten 'multipliers' or resize the images"
    # The first block of a level normalises the channels of the level before, at its own size.
    narrowest = [min(pair) for pair in zip(multipliers, (multipliers[0], *multipliers), strict=False)]
    grouped = [factor * channels // GROUPS * prod(event[1:]) // 4**level for level, factor in enumerate(narrowest)]
    if min(grouped) == 1:
        return (
            "normalises groups of a single number at its coarsest level; use more 'channels' or shorten 'multipliers'"
        )
    return None


def parameter_count(event: Event, channels: int, multipliers: Sequence[int], blocks: int, classes: int | None) -> int:
    """The number of parameters on images of this shape, layer by layer as the network is built."""
    widths, embedded = [channels * factor for factor in multipliers], 4 * channels
    count = noise_embedding(embedded, classes) + convolution(event[0], widths[0], 3)
    seen, width = [widths[0]], widths[0]
    for wanted in (wanted for wanted in widths for _ in range(blocks)):
        count += _block(width, wanted, embedded)
        width = wanted
        seen.append(width)
    count += _block(width, width, embedded)
    for wanted in (wanted for wanted in reversed(widths) for _ in range(blocks)):
        count += _block(width + seen.pop(), wanted, embedded)
        width = wanted
    return count + 2 * (width + seen.pop()) + convolution(width + widths[0], event[0], 3)


def _block(before: int, after: int, embedded: int) -> int:
    """Two norms and convolutions, the modulation, and a shortcut if the number of channels changes."""
    shortcut = convolution(before, after, 1) if before != after else 0
    convolutions = convolution(before, after, 3) + convolution(after, after, 3)
    return 2 * (before + after) + convolutions + linear(embedded, 2 * after) + shortcut
