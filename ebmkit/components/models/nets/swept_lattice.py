"""A lattice of two colours, with sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Generator, Tensor

from ebmkit.components.models.nets.checkerboard import COLOURS, Checkerboard
from ebmkit.components.models.nets.ising import LatticeEnergy


class SweptLattice(LatticeEnergy):
    """The same energy on a lattice of which two colours are enough: the ability `sweeps`, on half lattices."""

    _boards: dict[tuple[object, ...], tuple[Checkerboard, Tensor]] | None = None

    def sweep(self, units: Tensor, temperature: Tensor | float, rng: Generator) -> tuple[Tensor, Tensor]:
        """One colour given the other, then the other; and the energies of the states before.

        With b = (x - low) / (high - low) in {0, 1} the log odds are `(high - low)^2 J sum_j b_j + field_i`, where the
        field is that of the state with all units low.
        """
        board, lowest = self._board(units)
        low, high = self.unit_values
        energy = lowest + board.load(units)
        for colour in COLOURS:
            around = board.around(colour)
            odds = torch.add(board.fields[colour], around, alpha=(high - low) ** 2 * self.coupling, out=around)
            if colour == 0:  # each pair has one unit of this colour
                energy = energy - board.inner(0, odds) - board.inner(1, board.fields[1])
            if isinstance(temperature, Tensor):
                odds.div_(temperature.view(-1, *[1] * len(self.event)))
            elif temperature != 1:
                odds.div_(temperature)
            board.draw(colour, odds.sigmoid_(), rng)
        return board.state(energy - energy), energy  # NaN if an energy is: a comparison would hide it

    def _board(self, units: Tensor) -> tuple[Checkerboard, Tensor]:
        """Half lattices for this many chains, the same for all sweeps of a chain; and the energy of all units low."""
        key = len(units), units.device, units.dtype
        if self._boards is not None and key in self._boards:
            return self._boards[key]
        low, high = self.unit_values
        every_low = torch.full((1, units.shape[1]), low, device=units.device, dtype=units.dtype)
        field = (high - low) * self.local_field(every_low)[0]
        made = Checkerboard(len(units), self.event, self.periodic, self.unit_values, field), self(every_low)
        if self._boards is not None:
            self._boards[key] = made
        return made

    @contextmanager
    def baked(self) -> Iterator[None]:
        """Keep half lattices for a whole chain."""
        before, self._boards = self._boards, {}
        try:
            yield
        finally:
            self._boards = before
