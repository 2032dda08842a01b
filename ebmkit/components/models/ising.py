"""The Ising model."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, MinLen

from ebmkit.components.models.couplings import Couplings, Values, check_couplings, two_coloured, unit_traits
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.pairwise import Pairwise


@component("ising")
class Ising(Model):
    """Ising model: spins on a lattice of any dimension or on a graph, with pairwise couplings and a field.

        E(x) = -1/2 sum_ij J_ij x_i x_j - sum_i h_i x_i,    J_ij = J for neighbours on a lattice, else 0

    On the square lattice without a field it orders at J = log(1 + sqrt 2) / 2 = 0.4407. With up to 16 units it offers
    log Z and exact samples, by enumeration. The model has no trainable parameters; `boltzmann` has.

    Parameters:
        shape: shape of the lattice, and of a state.
        coupling: J for all pairs of neighbours, or the rows of a symmetric matrix with a diagonal of zeros for any
            graph of units (a lattice is written row by row).
        field: h, one number for all units or one each.
        periodic: periodic boundaries along every axis of three or more units.
        values: `spin` for units of -1 and +1, `binary` for units of 0 and 1.

    Reference: Ising, "Beitrag zur Theorie des Ferromagnetismus", Z. Phys. 31, 1925; Onsager, Phys. Rev. 65, 1944.

    Example: model: {use: ising, shape: [32, 32], coupling: 0.3, periodic: true}
    """

    space: ClassVar[Space] = "spin"
    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "conditionals"})

    shape: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (4, 4)
    coupling: float | Couplings = 0.4
    field: float | Annotated[tuple[float, ...], MinLen(1)] = 0.0
    periodic: bool = False
    values: Values = "spin"

    def __post_init__(self) -> None:
        units = prod(self.shape)
        if isinstance(self.coupling, tuple):
            check_couplings(self.coupling, units, "coupling")
            if self.periodic:
                raise ValueError("'periodic' is for a lattice, but 'coupling' is a matrix: include the bonds in it")
        if isinstance(self.field, tuple) and len(self.field) != units:
            raise ValueError(f"'field' has {len(self.field)} numbers, but there are {units} units")

    def traits(self) -> ModelTraits:
        traits = unit_traits(super().traits(), self.values, prod(self.shape))
        swept = not isinstance(self.coupling, tuple) and two_coloured(self.shape, self.periodic)
        return traits._replace(offers=traits.offers | {"sweeps"}) if swept else traits

    def event(self) -> Event:
        return self.shape

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> Pairwise:
        from ebmkit.components.models.nets.boltzmann import BoltzmannEnergy
        from ebmkit.components.models.nets.ising import LatticeEnergy
        from ebmkit.components.models.nets.swept_lattice import SweptLattice
        from ebmkit.maths.enumeration import VALUES

        field = torch.tensor(self.field, dtype=torch.float64).expand(prod(event)).clone()
        if not isinstance(self.coupling, tuple):
            lattice = SweptLattice if two_coloured(self.shape, self.periodic) else LatticeEnergy
            return lattice(event, self.coupling, field, self.periodic, VALUES[self.values])
        matrix = torch.tensor(self.coupling, dtype=torch.float64)
        return BoltzmannEnergy(event, VALUES[self.values], matrix, field).requires_grad_(False)
