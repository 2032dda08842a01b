"""The deep Boltzmann machine."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, MinLen

from ebmkit.components.models.copies import copied
from ebmkit.components.models.couplings import Values
from ebmkit.components.models.layers import LARGEST_LAYER, Count, Shape
from ebmkit.components.models.rbm import RBM
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.parts import Part
from ebmkit.contracts.traits import ModelTraits
from ebmkit.maths.enumeration import ENUMERABLE

if TYPE_CHECKING:
    from ebmkit.components.models.nets.dbm import DBMEnergy


@component("dbm")
class DBM(Model):
    """Deep Boltzmann machine (DBM): layers of units of two values, with connections between neighbouring layers only.

        E(x, h_1, ..., h_L) = -b_0'x - sum_k b_k'h_k - x'W_1 h_1 - sum_k h_k'W_{k+1} h_{k+1}
        p(h_{k,i} = 1 | h_{k-1}, h_{k+1}) = sigmoid(b_{k,i} + (h_{k-1}'W_k)_i + (W_{k+1} h_{k+1})_i)

    `gibbs` draws the layers of even number, among them x, given those of odd number, and conversely. The posterior of
    the hidden units is not tractable: `variational_mle` trains by mean field, with independent units,

        log p(x) >= -E_q[E(x, h)] + H(q) - log Z,    q(h_k) from the means of its neighbours, in turn.

    Trained as a whole from small weights, the upper layers stay unused, so layers are trained as parts first. A single
    `train:` section is used for each part in turn, and then for the whole; a list of stages does what it says. Part k,
    `layer_k`, is a restricted Boltzmann machine of h_{k-1} and h_k in which every layer that has two neighbours in the
    whole gets twice the input of the one that it has here: the lowest part has two copies of x with the same weights,
    both shown the data, the highest has two copies of h_L, and those between have weights 2 W_k. Higher parts learn
    from hidden units drawn upwards from the data. The whole has the weights of its parts, and the mean of the two
    biases of a layer between two others. A part with as many units as the layer two below starts from the transpose of
    the part below. With L = 2 the whole is then the lowest part with the second copy of x hidden, and what the highest
    part gains in the likelihood of h_1 raises a bound of log p(x) by at least half as much.

    The sums over all states enumerate the hidden layers of odd or of even number: if these are at most 16 units the
    energy -log sum_h exp(-E(x, h)) is offered; log Z, exact samples and the bound if the layers of odd number, or those
    of even number with x, are at most 20.

    Parameters:
        hidden: number of units of each hidden layer, from the lowest to the highest.
        passes: number of passes of mean field for a gradient; the bound takes 100.
        shape: shape of a visible state, such as [1, 8, 8]; by default that of the data.
        values: `binary` for units of 0 and 1, `spin` for units of -1 and +1, in all layers.

    Reference: Salakhutdinov and Hinton, "Deep Boltzmann machines", AISTATS 2009; Salakhutdinov and Hinton, "A better
    way to pretrain deep Boltzmann machines", NeurIPS 2012.

    Example: model: {use: dbm, hidden: [3, 4], shape: [4]}
    """

    space: ClassVar[Space] = "binary"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"parts", "blocks", "hidden", "joint_conditionals", "posterior"}
        | {"activations", "receptive_fields", "reconstruct"}
    )
    learning_rate: ClassVar[float] = 5e-3

    hidden: Annotated[tuple[Count, ...], MinLen(2)] = (64, 64)
    passes: Annotated[int, Ge(1)] = 10
    shape: Shape | None = None
    values: Values = "binary"

    def traits(self) -> ModelTraits:
        traits = super().traits()
        offers = set(traits.offers)
        odd, even = sum(self.hidden[0::2]), sum(self.hidden[1::2])
        if min(odd, even) <= ENUMERABLE:
            offers |= {"energy", "gradient"}
        if min(odd, odd if self.shape is None else even + prod(self.shape)) <= LARGEST_LAYER:
            offers |= {"log_z", "sample_exact", "bound"}
        return traits._replace(space=self.values, offers=frozenset(offers), pretrained=True)

    def event(self) -> Event | None:
        return self.shape

    def parts(self, event: Event) -> tuple[Part, ...]:
        below = [event, *((units,) for units in self.hidden[:-1])]
        found = []
        for number, (seen, units) in enumerate(zip(below, self.hidden, strict=True), 1):
            copies, above = self.copies(number)
            seen = copied(seen, copies)
            model = RBM(hidden=above * units, shape=seen, values=self.values)
            found.append(Part(f"layer_{number}", model, seen))
        return tuple(found)

    def copies(self, number: int) -> tuple[int, int]:
        """The copies of both layers of a part: of the lowest and the highest layer there are two."""
        return (2 if number == 1 else 1), (2 if number == len(self.hidden) else 1)

    def parameter_count(self, event: Event) -> int:
        sizes = [prod(event), *self.hidden]
        return sum(below * above + below + above for below, above in pairwise(sizes))

    def build(self, event: Event) -> DBMEnergy:
        from ebmkit.components.models.nets.dbm import DBMEnergy
        from ebmkit.components.models.nets.tied_rbm import TiedRBMEnergy
        from ebmkit.maths.enumeration import VALUES

        sizes = [event, *((units,) for units in self.hidden)]
        parts = {}
        for number, units in enumerate(self.hidden, 1):
            copies = self.copies(number)
            # A layer in between gets as much as two copies of it would give.
            strength = 2.0 if copies == (1, 1) else 1.0
            parts[f"layer_{number}"] = TiedRBMEnergy(sizes[number - 1], VALUES[self.values], units, copies, strength)
        return DBMEnergy(event, self.hidden, parts, self.passes)
