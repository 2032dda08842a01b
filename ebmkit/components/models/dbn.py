"""The deep belief network."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import MinLen

from ebmkit.components.models.couplings import Values
from ebmkit.components.models.layers import LARGEST_LAYER, Count, Shape
from ebmkit.components.models.rbm import RBM
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.parts import Part
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.dbn import DBNEnergy

#: Maximum number of units of a hidden layer below the highest for which the energy is computed by enumeration.
ENUMERATED = 12


@component("dbn")
class DBN(Model):
    """Deep belief network (DBN): a restricted Boltzmann machine over directed layers of units of two values.

        p(x, h_1, ..., h_L) = p(x | h_1) p(h_1 | h_2) ... p(h_{L-2} | h_{L-1}) p(h_{L-1}, h_L)
        p(h_{k-1,i} = 1 | h_k) = sigmoid(b_{k,i} + (W_k h_k)_i),    p(h_{L-1}, h_L) a restricted Boltzmann machine

    It is trained greedily, part by part: part k (`layer_k`) is a restricted Boltzmann machine that learns from hidden
    units of the part below, drawn given the data. If a layer has as many units as the one two below it, its part starts
    from the transpose of the part below, at which p(x) does not change; from there, its likelihood is the gain of a
    bound on that of the data. A single `train:` section is used for each part in turn. If all hidden layers below the
    highest have at most 12 units, it offers its energy -log p(x) - log Z by enumeration; if one of the two layers of
    the top has at most 20, exact samples; if that holds for every two neighbouring layers, the variational bound.

    Parameters:
        hidden: number of units of each hidden layer, from the lowest to the highest.
        shape: shape of a visible state, such as [1, 8, 8]; by default that of the data.
        values: `binary` for units of 0 and 1, `spin` for units of -1 and +1, in all layers.

    Reference: Hinton, Osindero and Teh, "A fast learning algorithm for deep belief nets", Neural Computation 18, 2006.

    Example: model: {use: dbn, hidden: [3, 4], shape: [4]}
    """

    space: ClassVar[Space] = "binary"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"parts", "ancestral", "activations", "receptive_fields", "reconstruct"}
    )
    learning_rate: ClassVar[float] = 1e-2

    hidden: Annotated[tuple[Count, ...], MinLen(2)] = (64, 64)
    shape: Shape | None = None
    values: Values = "binary"

    def traits(self) -> ModelTraits:
        traits = super().traits()
        offers = set(traits.offers)
        smaller = [min(pair) for pair in zip(self.hidden, self.hidden[1:], strict=False)]
        if max(self.hidden[:-1]) <= ENUMERATED:
            offers |= {"energy", "gradient", "log_z"}
        if smaller[-1] <= LARGEST_LAYER:
            offers.add("sample_exact")
        lowest = self.hidden[0] if self.shape is None else min(self.hidden[0], prod(self.shape))
        if max(lowest, *smaller) <= LARGEST_LAYER:
            offers.add("bound")
        return traits._replace(space=self.values, offers=frozenset(offers), by_parts=True)

    def event(self) -> Event | None:
        return self.shape

    def parts(self, event: Event) -> tuple[Part, ...]:
        below = [event, *((units,) for units in self.hidden[:-1])]
        return tuple(
            Part(f"layer_{number}", RBM(hidden=units, shape=seen, values=self.values), seen)
            for number, (seen, units) in enumerate(zip(below, self.hidden, strict=True), 1)
        )

    def parameter_count(self, event: Event) -> int:
        return sum(part.model.parameter_count(part.event) or 0 for part in self.parts(event))

    def build(self, event: Event) -> DBNEnergy:
        from ebmkit.components.models.nets.dbn import DBNEnergy
        from ebmkit.components.models.nets.rbm import RBMEnergy
        from ebmkit.maths.enumeration import VALUES

        parts, values = self.parts(event), VALUES[self.values]
        layers = [
            RBMEnergy(part.event, values, units, None, None, None)
            for part, units in zip(parts, self.hidden, strict=True)
        ]
        return DBNEnergy([part.name for part in parts], layers)
