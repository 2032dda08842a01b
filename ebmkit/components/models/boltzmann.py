"""The Boltzmann machine."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Le, MinLen

from ebmkit.components.models.couplings import Couplings, Values, check_couplings, unit_traits
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.boltzmann import BoltzmannEnergy
    from ebmkit.components.models.nets.hidden_boltzmann import HiddenBoltzmannEnergy

#: Maximum number of hidden units, whose states are enumerated for every state of the visible ones: 4096 states.
MOST_HIDDEN = 12
#: What a machine with hidden units offers in addition.
HIDDEN_OFFERS = frozenset({"hidden", "posterior", "activations", "receptive_fields"})


@component("boltzmann")
class Boltzmann(Model):
    """Boltzmann machine, fully visible or with hidden units: units of two values with pairwise interactions.

        E(x) = -1/2 x'Wx - b'x,    W symmetric with a diagonal of zeros
        p(x_i = 1 | rest) = sigmoid(W_i x + b_i) for values 0 and 1,  sigmoid(2 (W_i x + b_i)) for values -1 and +1

    Weights and biases are trainable. Two units whose weight is given as zero are not connected, and training keeps them
    so. Without `weights` all units are connected, by small random weights. With up to 16 units it offers log Z and
    exact samples, by enumeration, if its parameters fix the number of units. With hidden units the energy of a state is
    its free energy, by enumeration of the hidden ones; `gibbs` moves all units. A large number of hidden units that do
    not interact with each other is `rbm`.

    Parameters:
        weights: the rows of W, those of visible units first.
        biases: b, one number per unit, visible ones first; without them all are zero.
        hidden: number of hidden units, at most 12.
        shape: shape of a state, such as [1, 4, 4]. Without it a state is a flat list of as many numbers as `weights` or
            `biases` has for visible units, or has the shape of the data.
        values: `binary` for units of 0 and 1, `spin` for units of -1 and +1.

    Reference: Ackley, Hinton and Sejnowski, "A learning algorithm for Boltzmann machines", Cognitive Science 9, 1985.

    Example: model: {use: boltzmann, weights: [[0, -1, -1], [-1, 0, 2], [-1, 2, 0]], biases: [0, 1, 0], values: spin}
    """

    space: ClassVar[Space] = "binary"
    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "conditionals"})
    learning_rate: ClassVar[float] = 1e-2

    weights: Couplings | None = None
    biases: Annotated[tuple[float, ...], MinLen(1)] | None = None
    hidden: Annotated[int, Ge(0), Le(MOST_HIDDEN)] = 0
    shape: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] | None = None
    values: Values = "binary"

    def __post_init__(self) -> None:
        given = self.weights or self.biases
        if given and len(given) <= self.hidden:
            name = "weights" if self.weights else "biases"
            raise ValueError(f"'{name}' is for {len(given)} units, of which {self.hidden} are hidden: none is visible")
        units = self._units()
        if units is not None and self.weights is not None:
            check_couplings(self.weights, units, "weights")
        if units is not None and self.biases is not None and len(self.biases) != units:
            raise ValueError(f"'biases' has {len(self.biases)} numbers, but there are {units} units")

    def traits(self) -> ModelTraits:
        traits = unit_traits(super().traits(), self.values, self._units())
        return traits._replace(offers=traits.offers | HIDDEN_OFFERS) if self.hidden else traits

    def event(self) -> Event | None:
        given = self.weights or self.biases
        return self.shape or ((len(given) - self.hidden,) if given else None)

    def _units(self) -> int | None:
        """The number of all units, if it is known."""
        event = self.event()
        return None if event is None else prod(event) + self.hidden

    def parameter_count(self, event: Event) -> int:
        units = prod(event) + self.hidden
        if self.weights is None:
            return units * (units + 1) // 2
        return units + sum(weight != 0 for i, row in enumerate(self.weights) for weight in row[i + 1 :])

    def build(self, event: Event) -> BoltzmannEnergy | HiddenBoltzmannEnergy:
        from ebmkit.components.models.nets.boltzmann import BoltzmannEnergy
        from ebmkit.components.models.nets.hidden_boltzmann import HiddenBoltzmannEnergy
        from ebmkit.maths.enumeration import VALUES

        weights, biases = (
            None if given is None else torch.tensor(given, dtype=torch.float64) for given in (self.weights, self.biases)
        )
        if self.hidden:
            return HiddenBoltzmannEnergy(event, VALUES[self.values], self.hidden, weights, biases)
        return BoltzmannEnergy(event, VALUES[self.values], weights, biases)
