"""The Ising model on a lattice, as a module."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from ebmkit.components.models.nets.pairwise import Pairwise

#: From this number of units on, in all chains together, sums over neighbours are faster by shifts of the whole lattice
#: than by a table, also for a half of the units.
MANY = 1 << 14


class LatticeEnergy(Pairwise):
    """`E(x) = -J sum_<ij> x_i x_j - h'x`, with a table of neighbours instead of a dense matrix."""

    neighbours: Tensor
    bonds: Tensor
    field: Tensor

    def __init__(
        self,
        shape: tuple[int, ...],
        coupling: float,
        field: Tensor,
        periodic: bool,
        values: tuple[float, float],
    ) -> None:
        pairs, units = lattice(shape, periodic), prod(shape)
        super().__init__(shape, values, units, pairs)
        self.coupling, self.periodic = coupling, periodic
        partners: list[list[int]] = [[] for _ in range(units)]
        for one, other in pairs.T.tolist():
            partners[one].append(other)
            partners[other].append(one)
        most = max(map(len, partners))
        # A unit at an edge has fewer neighbours: the table is padded with the unit itself, at strength zero.
        known = [[*row, *[unit] * (most - len(row))] for unit, row in enumerate(partners)]
        strength = [[coupling] * len(row) + [0.0] * (most - len(row)) for row in partners]
        dtype = torch.get_default_dtype()
        # One row per direction, (K, d): summing rows of units is eight times as fast as summing columns.
        table = torch.tensor(known, dtype=torch.int64).view(units, most).T.contiguous()
        self.register_buffer("neighbours", table, persistent=False)
        self.register_buffer("bonds", torch.tensor(strength, dtype=dtype).view(units, most).T.contiguous())
        self.register_buffer("field", field.to(dtype))

    def local_field(self, x: Tensor, sites: Tensor | None = None) -> Tensor:
        asked = x.shape[1] if sites is None else len(sites)
        if x.numel() >= MANY and 2 * asked >= x.shape[1] and not x.requires_grad:
            every = self._around(x).mul_(self.coupling).add_(self.field)
            return every if sites is None else every.index_select(1, sites)
        neighbours, bonds, field = self.neighbours, self.bonds, self.field
        if sites is not None:
            neighbours, bonds = neighbours.index_select(1, sites), bonds.index_select(1, sites)
            field = field.index_select(0, sites)
        around = x.index_select(1, neighbours.view(-1)).view(len(x), *neighbours.shape)
        return (around * bonds).sum(1) + field

    def _around(self, x: Tensor) -> Tensor:
        """The sum over the neighbours of every unit, `(B, d)`, from the lattice shifted along each axis."""
        sites = x.reshape(len(x), *self.event)
        total = torch.zeros_like(sites)
        for axis, length in enumerate(self.event, start=1):
            total.narrow(axis, 1, length - 1).add_(sites.narrow(axis, 0, length - 1))
            total.narrow(axis, 0, length - 1).add_(sites.narrow(axis, 1, length - 1))
            if self.periodic and length > 2:
                total.narrow(axis, 0, 1).add_(sites.narrow(axis, length - 1, 1))
                total.narrow(axis, length - 1, 1).add_(sites.narrow(axis, 0, 1))
        return total.flatten(1)

    def bias(self) -> Tensor:
        return self.field


def lattice(shape: tuple[int, ...], periodic: bool) -> Tensor:
    """The pairs of neighbours `(2, P)`, each once with the lower unit first; an axis of two is never periodic."""
    units = torch.arange(prod(shape)).view(shape)
    pairs = []
    for axis, length in enumerate(shape):
        pairs.append(torch.stack([units.narrow(axis, 0, length - 1), units.narrow(axis, 1, length - 1)]).flatten(1))
        if periodic and length > 2:
            pairs.append(torch.stack([units.narrow(axis, 0, 1), units.narrow(axis, length - 1, 1)]).flatten(1))
    return torch.cat(pairs, 1)
