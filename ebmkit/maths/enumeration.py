"""Enumeration of all states of a few units, by number.

The first unit is the highest bit of a state's number. torch is imported when a function is called, not before, because
models and metrics use `ENUMERABLE` while a spec is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: Maximum number of units whose states are kept in a table, or differentiated: 65,536 states.
ENUMERABLE = 16
#: Maximum number of units over whose states a sum is computed block by block: 33,554,432 states.
SUMMABLE = 25
#: States whose energy is computed at a time.
BLOCK = 1 << 16

#: The two values of a unit, by space.
VALUES = {"binary": (0.0, 1.0), "spin": (-1.0, 1.0)}


def states(numbers: Tensor, event: tuple[int, ...], values: tuple[float, float], dtype: torch.dtype) -> Tensor:
    """The states `(N, *event)` with these numbers `(N,)`."""
    shifts = torch.arange(prod(event) - 1, -1, -1, device=numbers.device)
    bits = (numbers.unsqueeze(1) >> shifts) & 1
    low, high = values
    return (low + (high - low) * bits.to(dtype)).view(len(numbers), *event)


def numbers(x: Tensor, values: tuple[float, float]) -> Tensor:
    """The numbers `(N,)` of states `(N, *event)`."""
    bits = (x.flatten(1) > sum(values) / 2).long()
    shifts = torch.arange(bits.shape[1] - 1, -1, -1, device=x.device)
    return (bits << shifts).sum(1)


def log_weights(
    energy: Callable[[Tensor], Tensor], event: tuple[int, ...], values: tuple[float, float], like: Tensor
) -> Tensor:
    """`-E(x)` of all states in order, `(2^d,)`, with the device and dtype of `like`."""
    everything = torch.split(torch.arange(2 ** prod(event), device=like.device), BLOCK)
    return torch.cat([-energy(states(block, event, values, like.dtype)) for block in everything])


def log_sum(
    energy: Callable[[Tensor], Tensor], event: tuple[int, ...], values: tuple[float, float], like: Tensor
) -> Tensor:
    """`log sum_x exp(-E(x))` over all states, a scalar without a graph.

    Blocks of 65,536 states are summed one after another, so the memory is that of one block: its states, `2^16 d`
    numbers, and what the energy needs for them.
    """
    found = []
    with torch.no_grad():
        for first in range(0, 2 ** prod(event), BLOCK):
            some = torch.arange(first, min(first + BLOCK, 2 ** prod(event)), device=like.device)
            found.append((-energy(states(some, event, values, like.dtype))).logsumexp(0))
    return torch.stack(found).logsumexp(0)


def lowest(
    energy: Callable[[Tensor], Tensor], event: tuple[int, ...], values: tuple[float, float], like: Tensor
) -> Tensor:
    """The state `(*event)` of the lowest energy; the first of several."""
    with torch.no_grad():
        best = log_weights(energy, event, values, like).argmax()
    return states(best.view(1), event, values, like.dtype)[0]


def draw(log_weights: Tensor, n: int, rng: Generator) -> Tensor:
    """The numbers of `n` independent states with probabilities in proportion to `exp(log_weights)`.

    Units are drawn one by one, each given those before it. This avoids a table of cumulative probabilities over all
    states, which would be rounded in single precision.
    """
    levels = [log_weights]
    while len(levels[-1]) > 2:  # the mass of each of the 2^k states of the first k units
        levels.append(levels[-1].view(-1, 2).logsumexp(1))
    number = torch.zeros(n, device=log_weights.device, dtype=torch.int64)
    for level in reversed(levels):
        low, high = level.view(-1, 2).unbind(1)
        u = torch.empty(n, device=level.device, dtype=level.dtype).uniform_(generator=rng)
        number = 2 * number + (u < (high - low).sigmoid().index_select(0, number))
    return number
