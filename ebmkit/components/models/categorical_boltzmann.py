"""The Boltzmann machine with categorical units."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.models.category_couplings import (
    Categories,
    Fields,
    Tables,
    category_traits,
    check_fields,
    check_tables,
)
from ebmkit.components.models.layers import Shape
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.categorical_boltzmann import CategoricalBoltzmannEnergy


@component("categorical_boltzmann")
class CategoricalBoltzmann(Model):
    """Boltzmann machine with categorical units, or pairwise Markov random field: a trainable Potts model with a table
    of couplings for each pair of units.

        E(x) = -sum_{i<j} J_ij(x_i, x_j) - sum_i h_i(x_i),    J_ij(a, b) = J_ji(b, a)
        p(x_i = a | rest) = softmax_a(h_i(a) + sum_j J_ij(a, x_j))

    Couplings and biases are trainable: K^2 numbers per pair of units and K per unit, of which some change nothing, as a
    number added to all h_i(a) does. Two units whose table is given as zero are not connected, and training keeps them
    so. Without `weights` all units are connected, by small random tables. With up to 65,536 states it offers log Z and
    exact samples, by enumeration, if its parameters fix the number of units. The model of text, of columns of a table
    and of families of protein sequences, where `pseudo_likelihood` is the usual objective.

    Parameters:
        categories: K, which must be that of the data; the categories are 0 to K - 1.
        weights: J as nested lists, `weights[i][j][a][b]`.
        biases: h, a row of K numbers for each unit; by default zero.
        shape: shape of a state. Without it a state is a flat list as long as `weights` or `biases`, or has the shape of
            the data.

    Reference: Ekeberg et al., "Improved contact prediction in proteins: using pseudolikelihoods to infer Potts models",
    Phys. Rev. E 87, 2013; Wu, "The Potts model", Rev. Mod. Phys. 54, 1982.

    Example: model: {use: categorical_boltzmann, categories: 3, biases: [[0, 1, 0], [0.5, 0, -1]]}
    """

    space: ClassVar[Space] = "categorical"
    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "conditionals"})
    learning_rate: ClassVar[float] = 1e-2

    categories: Categories = 3
    weights: Tables | None = None
    biases: Fields | None = None
    shape: Shape | None = None

    def __post_init__(self) -> None:
        units = self._units()
        if units is not None and self.weights is not None:
            check_tables(self.weights, units, self.categories, "weights")
        if self.biases is not None:
            check_fields(self.biases, units, self.categories, "biases")

    def traits(self) -> ModelTraits:
        return category_traits(super().traits(), self.categories, self._units())

    def event(self) -> Event | None:
        given = self.weights or self.biases
        return self.shape or ((len(given),) if given else None)

    def _units(self) -> int | None:
        """The number of units, if it is known."""
        event = self.event()
        return None if event is None else prod(event)

    def parameter_count(self, event: Event) -> int:
        units = prod(event)
        pairs = units * (units - 1) // 2
        if self.weights is not None:
            pairs = sum(any(map(any, table)) for i, row in enumerate(self.weights) for table in row[i + 1 :])
        return pairs * self.categories**2 + units * self.categories

    def build(self, event: Event) -> CategoricalBoltzmannEnergy:
        from ebmkit.components.models.nets.categorical_boltzmann import CategoricalBoltzmannEnergy

        weights, biases = (
            None if given is None else torch.tensor(given, dtype=torch.float64) for given in (self.weights, self.biases)
        )
        return CategoricalBoltzmannEnergy(event, self.categories, weights, biases)
