"""The Potts model."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, MinLen

from ebmkit.components.models.category_couplings import Categories, Fields, Row, category_traits, check_fields
from ebmkit.components.models.couplings import Couplings, check_couplings
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.categorical_pairwise import CategoricalPairwise


@component("potts")
class Potts(Model):
    """Potts model: units of K categories on a lattice of any dimension or on a graph, with equal ones coupled.

        E(x) = -sum_{i<j} J_ij [x_i = x_j] - sum_i h_i(x_i),    J_ij = J for neighbours on a lattice, else 0

    On the square lattice without a field it orders at J = log(1 + sqrt K); with two categories it is the Ising model of
    coupling J / 2. With up to 65,536 states it offers log Z and exact samples, by enumeration. The model has no
    trainable parameters; `categorical_boltzmann` has.

    Parameters:
        shape: shape of the lattice, and of a state.
        categories: K; the categories are 0 to K - 1.
        coupling: J for all pairs of neighbours, or the rows of a symmetric matrix with a diagonal of zeros for any
            graph of units (a lattice is written row by row).
        field: h, one number per category, or a row of these for each unit; by default zero.
        periodic: periodic boundaries along every axis of three or more units.

    Reference: Potts, "Some generalized order-disorder transformations", Math. Proc. Cambridge Phil. Soc. 48, 1952; Wu,
    "The Potts model", Rev. Mod. Phys. 54, 1982.

    Example: model: {use: potts, shape: [3, 3], categories: 3, coupling: 0.8, periodic: true}
    """

    space: ClassVar[Space] = "categorical"
    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "conditionals"})

    shape: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (3, 3)
    categories: Categories = 3
    coupling: float | Couplings = 0.5
    field: Row | Fields | None = None
    periodic: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.coupling, tuple):
            check_couplings(self.coupling, prod(self.shape), "coupling")
            if self.periodic:
                raise ValueError("'periodic' is for a lattice, but 'coupling' is a matrix: include the bonds in it")
        check_fields(self._fields(), prod(self.shape), self.categories, "field")

    def _fields(self) -> Fields:
        """A row of h for each unit."""
        field = (0.0,) * self.categories if self.field is None else self.field
        if isinstance(field[0], tuple):
            return field
        return (field,) * prod(self.shape)

    def traits(self) -> ModelTraits:
        return category_traits(super().traits(), self.categories, prod(self.shape))

    def event(self) -> Event:
        return self.shape

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> CategoricalPairwise:
        from ebmkit.components.models.nets.potts import PottsGraph, PottsLattice

        field = torch.tensor(self._fields(), dtype=torch.float64)
        if not isinstance(self.coupling, tuple):
            return PottsLattice(event, self.categories, self.coupling, field, self.periodic)
        return PottsGraph(event, self.categories, torch.tensor(self.coupling, dtype=torch.float64), field)
