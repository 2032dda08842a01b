"""A lattice of two colours, with sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.checkerboard import COLOURS, Checkerboard
from ebmkit.components.models.nets.ising import LatticeEnergy

#: Units that are swept together: half lattices of more would not stay in the cache from one operation to the next.
UNITS = 1 << 18


class SweptLattice(LatticeEnergy):
    """The same energy on a lattice of which two colours are enough: the ability `sweeps`, on half lattices."""

    _kept: dict[tuple[object, ...], tuple[list[Checkerboard], Tensor]] | None = None

    def sweep(self, units: Tensor, temperature: Tensor | float, rng: Generator) -> tuple[Tensor, Tensor]:
        """One colour given the other, then the other; and the energies of the states before.

        With b = (x - low) / (high - low) in {0, 1} the log odds are `(high - low)^2 J sum_j b_j + field_i`, where the
        field is that of the state with all units low.
        """
        boards, lowest = self._boards(units)
        after, together = torch.empty_like(units), self._together
        energies = []
        for number, board in enumerate(boards):
            some = slice(number * together, (number + 1) * together)
            heat = (
                temperature[some].view(-1, *[1] * len(self.event)) if isinstance(temperature, Tensor) else temperature
            )
            energy = lowest + board.load(units[some]) - self._draw(board, heat, rng)
            board.store(after[some], energy - energy)  # NaN if an energy is: a comparison would hide it
            energies.append(energy)
        for board in boards:
            board.recognize(after)
        return after, torch.cat(energies)

    def _draw(self, board: Checkerboard, temperature: Tensor | float, rng: Generator) -> Tensor:
        """Draw both colours; by how much the energies of the states before are below that of all units low."""
        low, high = self.unit_values
        gain = board.along_field(1)
        for colour in COLOURS:
            around = board.around(colour)
            odds = torch.add(board.fields[colour], around, alpha=(high - low) ** 2 * self.coupling, out=around)
            if colour == 0:  # each pair has one unit of this colour
                gain = gain + board.inner(0, odds)
            if isinstance(temperature, Tensor) or temperature != 1:
                odds.div_(temperature)
            board.draw(colour, odds.sigmoid_(), rng)
        return gain

    @property
    def _together(self) -> int:
        """How many chains are swept together."""
        return max(1, UNITS // prod(self.event))

    def _boards(self, units: Tensor) -> tuple[list[Checkerboard], Tensor]:
        """Half lattices for this many chains, the same for all sweeps of a chain; and the energy of all units low."""
        key = len(units), units.device, units.dtype
        if self._kept is not None and key in self._kept:
            return self._kept[key]
        low, high = self.unit_values
        every_low = torch.full((1, units.shape[1]), low, device=units.device, dtype=units.dtype)
        field = (high - low) * self.local_field(every_low)[0]
        sizes = [len(some) for some in torch.split(units, self._together)]
        boards = [Checkerboard(size, self.event, self.periodic, self.unit_values, field) for size in sizes]
        made = boards, self(every_low)
        if self._kept is not None:
            self._kept[key] = made
        return made

    @contextmanager
    def baked(self) -> Iterator[None]:
        """Keep half lattices for a whole chain."""
        before, self._kept = self._kept, {}
        try:
            yield
        finally:
            self._kept = before
