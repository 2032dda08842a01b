"""Energies with pairwise interactions of units."""

from __future__ import annotations

from abc import abstractmethod
from itertools import chain

import torch
from torch import Generator, Tensor, nn

from ebmkit.maths import enumeration
from ebmkit.maths.two_valued import draw_values


class Pairwise(nn.Module):
    """`E(x) = -1/2 x'Wx - b'x` on units of two values, with W symmetric and zero on the diagonal.

    A subclass computes `W x + b`. As W has no diagonal, the field at a unit does not depend on its own value.
    """

    order: Tensor

    def __init__(self, event: tuple[int, ...], values: tuple[float, float], units: int, pairs: Tensor | None) -> None:
        """`pairs (2, P)` are the units that interact, each pair once with the lower unit first; None if all do."""
        super().__init__()
        self.event = event
        self.unit_values = values
        blocks = [[unit] for unit in range(units)] if pairs is None else colouring(units, pairs)
        self._sizes = [len(block) for block in blocks]
        # Derived from the parameters of the model, so not part of its state.
        self.register_buffer("order", torch.tensor([*chain.from_iterable(blocks)]), persistent=False)

    @abstractmethod
    def local_field(self, x: Tensor, sites: Tensor | None = None) -> Tensor:
        """`W_i x + b_i` of the units `sites (K,)` of flat states, `(B, d) -> (B, K)`; of all units without `sites`."""

    @abstractmethod
    def bias(self) -> Tensor:
        """b, `(d,)`."""

    def forward(self, x: Tensor) -> Tensor:
        return self.energy_and_grad(x)[0]

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx = -(W x + b)`. In E a pair counts once, so `W x` is multiplied by 1/2."""
        flat = x.flatten(1)
        field = self.local_field(flat)
        return -(flat * (field + self.bias())).sum(1) / 2, -field.view_as(x)

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """`E` at the lower value minus `E` at the higher one."""
        low, high = self.unit_values
        return (high - low) * self.local_field(x.flatten(1), sites)

    def blocks(self) -> list[Tensor]:
        """Blocks of units that do not interact with each other."""
        return list(torch.split(self.order, self._sizes))

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """Units that do not interact, given all others."""
        return draw_values(self.log_odds(units, sites) / temperature, self.unit_values, rng)

    def log_z(self) -> Tensor:
        """log Z by enumeration, differentiable in all parameters."""
        return self._log_weights().logsumexp(0)

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Exact samples by enumeration of all states."""
        weights = self._log_weights()
        drawn = enumeration.states(enumeration.draw(weights, n, rng), self.event, self.unit_values, weights.dtype)
        total = weights.logsumexp(0)
        return drawn + (total - total)  # zero, or NaN if an energy is: comparisons would draw the lower value

    def ground_state(self) -> Tensor:
        """The state of the lowest energy, by enumeration."""
        return enumeration.lowest(self, self.event, self.unit_values, self.bias())

    def _log_weights(self) -> Tensor:
        return enumeration.log_weights(self, self.event, self.unit_values, self.bias())


def colouring(units: int, pairs: Tensor) -> list[list[int]]:
    """Greedy graph colouring: each unit joins the first set that contains none of its partners.

    On a lattice this gives the checkerboard; if all units interact, each set has one unit.
    """
    before: list[list[int]] = [[] for _ in range(units)]
    for first, second in pairs.T.tolist():
        before[second].append(first)
    colour: list[int] = []
    sets: list[list[int]] = []
    for unit in range(units):
        taken = {colour[partner] for partner in before[unit]}
        free = next(k for k in range(len(sets) + 1) if k not in taken)
        if free == len(sets):
            sets.append([])
        sets[free].append(unit)
        colour.append(free)
    return sets
