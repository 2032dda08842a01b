"""Enumeration of all states of a few discrete units, by number.

The first unit is the highest digit of a state's number, in base K for units of K values. torch is imported when a
function is called, not before, because models and metrics use `ENUMERABLE` while a spec is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2, prod
from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: Maximum number of units of two values whose states are kept in a table, or differentiated: 65,536 states.
ENUMERABLE = 16
#: Maximum number of units of two values over whose states a sum is computed block by block: 33,554,432 states.
SUMMABLE = 25
#: States whose energy is computed at a time.
BLOCK = 1 << 16

#: The two values of a unit, by space.
VALUES = {"binary": (0.0, 1.0), "spin": (-1.0, 1.0)}


def most_units(bound: int, values: Sequence[float]) -> int:
    """The number of units of these values that have at most as many states as `bound` units of two values."""
    return int(bound / log2(len(values)) + 1e-9)


def states(numbers: Tensor, event: tuple[int, ...], values: Sequence[float], dtype: torch.dtype) -> Tensor:
    """The states `(N, *event)` with these numbers `(N,)`. Values are evenly spaced."""
    digits = _digits(numbers, prod(event), len(values)).to(dtype)
    return (values[0] + (values[1] - values[0]) * digits).view(len(numbers), *event)


def _digits(numbers: Tensor, units: int, base: int) -> Tensor:
    """The digits `(N, units)` of numbers, the highest first."""
    places = torch.arange(units - 1, -1, -1, device=numbers.device)
    if base == 2:  # several times as fast as a division
        return (numbers.unsqueeze(1) >> places) & 1
    return numbers.unsqueeze(1).div(base**places, rounding_mode="floor") % base


def numbers(x: Tensor, values: Sequence[float]) -> Tensor:
    """The numbers `(N,)` of states `(N, *event)`."""
    digits = ((x.flatten(1) - values[0]) / (values[1] - values[0])).round().long()
    places = torch.arange(digits.shape[1] - 1, -1, -1, device=x.device)
    return (digits * len(values) ** places).sum(1)


def log_weights(
    energy: Callable[[Tensor], Tensor], event: tuple[int, ...], values: Sequence[float], like: Tensor
) -> Tensor:
    """`-E(x)` of all states in order, `(K^d,)`, with the device and dtype of `like`."""
    everything = torch.split(torch.arange(len(values) ** prod(event), device=like.device), BLOCK)
    return torch.cat([-energy(states(block, event, values, like.dtype)) for block in everything])


def log_sum(
    energy: Callable[[Tensor], Tensor], event: tuple[int, ...], values: Sequence[float], like: Tensor
) -> Tensor:
    """`log sum_x exp(-E(x))` over all states, a scalar without a graph.

    Blocks of 65,536 states are summed one after another, so the memory is that of one block: its states, `2^16 d`
    numbers, and what the energy needs for them.
    """
    found, count = [], len(values) ** prod(event)
    with torch.no_grad():
        for first in range(0, count, BLOCK):
            some = torch.arange(first, min(first + BLOCK, count), device=like.device)
            found.append((-energy(states(some, event, values, like.dtype))).logsumexp(0))
    return torch.stack(found).logsumexp(0)


def lowest(energy: Callable[[Tensor], Tensor], event: tuple[int, ...], values: Sequence[float], like: Tensor) -> Tensor:
    """The state `(*event)` of the lowest energy; the first of several."""
    with torch.no_grad():
        best = log_weights(energy, event, values, like).argmax()
    return states(best.view(1), event, values, like.dtype)[0]


def draw(log_weights: Tensor, n: int, rng: Generator, base: int = 2) -> Tensor:
    """The numbers of `n` independent states of units of `base` values, with probabilities in proportion to
    `exp(log_weights)`.

    Units are drawn one by one, each given those before it. This avoids a table of cumulative probabilities over all
    states, which would be rounded in single precision.
    """
    from ebmkit.maths.categories import draw_categories

    levels = [log_weights]
    while len(levels[-1]) > base:  # the mass of each of the K^k states of the first k units
        levels.append(levels[-1].view(-1, base).logsumexp(1))
    number = torch.zeros(n, device=log_weights.device, dtype=torch.int64)
    for level in reversed(levels):
        masses = level.view(-1, base)
        if base == 2:
            low, high = masses.unbind(1)
            u = torch.empty(n, device=level.device, dtype=level.dtype).uniform_(generator=rng)
            digit = (u < (high - low).sigmoid().index_select(0, number)).to(number.dtype)
        else:
            digit = draw_categories(masses.index_select(0, number), rng).nan_to_num().long()  # NaN is the caller's
        number = base * number + digit
    return number
