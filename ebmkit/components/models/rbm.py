"""The restricted Boltzmann machine."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.models.couplings import Values
from ebmkit.components.models.layers import (
    LARGEST_LAYER,
    LARGEST_SUM,
    LAYER_OFFERS,
    Count,
    Numbers,
    Rows,
    Shape,
    as_tensor,
    check_layers,
    hidden_count,
    visible_shape,
)
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Space
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.rbm import RBMEnergy


@component("rbm")
class RBM(Model):
    """Restricted Boltzmann machine (RBM): visible and hidden units of two values, connected between layers only.

        E(v, h) = -b'v - c'h - v'Wh
        E(v) = -b'v - sum_j log(1 + exp(c_j + (v'W)_j)),    the free energy, for values 0 and 1
        p(h_j = 1 | v) = sigmoid(c_j + (v'W)_j),    p(v_i = 1 | h) = sigmoid(b_i + (Wh)_i);    of 2 (...) for spins

    Weights and biases are trainable. `gibbs` draws one layer given the other. If one of the layers has at most 20
    units it offers exact samples, and with at most 25 log Z, by enumeration of the smaller layer. Beigy's lecture
    prints p(v_i = 1 | h) with c in place of b.

    Parameters:
        hidden: number of hidden units; by default as many as `weights` has columns, or 64.
        weights: W, a row per visible unit and a column per hidden unit; by default small and random.
        visible_biases: b, one number per visible unit; by default zero.
        hidden_biases: c, one number per hidden unit; by default zero.
        shape: shape of a visible state, such as [1, 8, 8]. Without it a state is a flat list as long as `weights` or
            `visible_biases`, or has the shape of the data.
        values: `binary` for units of 0 and 1, `spin` for units of -1 and +1, in both layers.

    Reference: Smolensky, "Information processing in dynamical systems: foundations of harmony theory", 1986; Hinton, "A
    practical guide to training restricted Boltzmann machines", 2010.

    Example: model: {use: rbm, weights: [[1, -1], [0.5, 2], [-1, 0]], visible_biases: [0, 0.5, -0.5]}
    """

    space: ClassVar[Space] = "binary"
    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "conditionals", "harmonium", *LAYER_OFFERS})
    learning_rate: ClassVar[float] = 1e-2

    hidden: Count | None = None
    weights: Rows | None = None
    visible_biases: Numbers | None = None
    hidden_biases: Numbers | None = None
    shape: Shape | None = None
    values: Values = "binary"

    def __post_init__(self) -> None:
        check_layers(
            self.event(),
            self.hidden_units,
            self.weights,
            visible_biases=(0, self.visible_biases),
            hidden_biases=(1, self.hidden_biases),
        )

    @property
    def hidden_units(self) -> int:
        """The number of hidden units."""
        return hidden_count(self.hidden, self.weights, self.hidden_biases)

    def traits(self) -> ModelTraits:
        event, traits = self.event(), super().traits()
        smaller = min(self.hidden_units, self.hidden_units if event is None else prod(event))
        exact = {"sample_exact"} if smaller <= LARGEST_LAYER else set()
        if smaller <= LARGEST_SUM:
            exact.add("log_z")
        return traits._replace(space=self.values, offers=traits.offers | exact)

    def event(self) -> Event | None:
        return visible_shape(self.shape, self.weights, self.visible_biases)

    def parameter_count(self, event: Event) -> int:
        visible, hidden = prod(event), self.hidden_units
        return visible * hidden + visible + hidden

    def build(self, event: Event) -> RBMEnergy:
        from ebmkit.components.models.nets.rbm import RBMEnergy
        from ebmkit.maths.enumeration import VALUES

        return RBMEnergy(
            event,
            VALUES[self.values],
            self.hidden_units,
            as_tensor(self.weights),
            as_tensor(self.visible_biases),
            as_tensor(self.hidden_biases),
        )
