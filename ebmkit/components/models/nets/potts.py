"""The Potts model on a lattice and on a graph, as modules."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor

from ebmkit.components.models.nets.categorical_pairwise import CategoricalPairwise
from ebmkit.components.models.nets.ising import lattice


class PottsLattice(CategoricalPairwise):
    """`J_ij(a, b) = J` for neighbours of the same category on a lattice, else 0."""

    neighbours: Tensor
    bonds: Tensor
    field: Tensor

    def __init__(self, shape: tuple[int, ...], categories: int, coupling: float, field: Tensor, periodic: bool) -> None:
        """`field` is h, `(d, K)`."""
        pairs, units, dtype = lattice(shape, periodic), prod(shape), torch.get_default_dtype()
        super().__init__(shape, categories, units, pairs)
        self.coupling, self.periodic = coupling, periodic
        partners: list[list[int]] = [[] for _ in range(units)]
        for one, other in pairs.T.tolist():
            partners[one].append(other)
            partners[other].append(one)
        most = max(map(len, partners))
        # A unit at an edge has fewer neighbours: the table is padded with the unit itself, at strength zero.
        known = [[*row, *[unit] * (most - len(row))] for unit, row in enumerate(partners)]
        strength = [[coupling] * len(row) + [0.0] * (most - len(row)) for row in partners]
        table = torch.tensor(known, dtype=torch.int64).view(units, most).T.contiguous()
        self.register_buffer("neighbours", table, persistent=False)
        self.register_buffer("bonds", torch.tensor(strength, dtype=dtype).view(units, most).T.contiguous())
        self.register_buffer("field", field.to(dtype))

    def local_field(self, hot: Tensor, sites: Tensor | None = None) -> Tensor:
        if sites is None or 2 * len(sites) >= hot.shape[1]:
            every = self.coupling * self._around(hot) + self.field
            return every if sites is None else every.index_select(1, sites)
        neighbours, bonds = self.neighbours.index_select(1, sites), self.bonds.index_select(1, sites)
        around = hot.index_select(1, neighbours.view(-1)).view(len(hot), *neighbours.shape, -1)
        return (around * bonds.unsqueeze(2)).sum(1) + self.field.index_select(0, sites)

    def _around(self, hot: Tensor) -> Tensor:
        """The numbers of neighbours of each category, `(B, d, K)`, from the lattice shifted along each axis."""
        sites = hot.reshape(len(hot), *self.event, hot.shape[2])
        total = torch.zeros_like(sites)
        for axis, length in enumerate(self.event, start=1):
            total.narrow(axis, 1, length - 1).add_(sites.narrow(axis, 0, length - 1))
            total.narrow(axis, 0, length - 1).add_(sites.narrow(axis, 1, length - 1))
            if self.periodic and length > 2:
                total.narrow(axis, 0, 1).add_(sites.narrow(axis, length - 1, 1))
                total.narrow(axis, length - 1, 1).add_(sites.narrow(axis, 0, 1))
        return total.view_as(hot)

    def bias(self) -> Tensor:
        return self.field


class PottsGraph(CategoricalPairwise):
    """`J_ij(a, b) = J_ij` for units of the same category, with a matrix J."""

    matrix: Tensor
    field: Tensor

    def __init__(self, event: tuple[int, ...], categories: int, matrix: Tensor, field: Tensor) -> None:
        """`matrix` is J, `(d, d)`, symmetric with a diagonal of zeros; `field` is h, `(d, K)`."""
        super().__init__(event, categories, len(matrix), matrix.triu(1).nonzero().T)
        dtype = torch.get_default_dtype()
        self.register_buffer("matrix", matrix.to(dtype))
        self.register_buffer("field", field.to(dtype))

    def local_field(self, hot: Tensor, sites: Tensor | None = None) -> Tensor:
        if sites is None:
            return self.matrix @ hot + self.field
        return self.matrix.index_select(0, sites) @ hot + self.field.index_select(0, sites)

    def bias(self) -> Tensor:
        return self.field
