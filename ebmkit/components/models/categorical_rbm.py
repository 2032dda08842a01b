"""The restricted Boltzmann machine with categorical visible units."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.models.category_couplings import Categories, Fields, check_fields
from ebmkit.components.models.couplings import Values
from ebmkit.components.models.layers import (
    LARGEST_LAYER,
    LARGEST_SUM,
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
    from ebmkit.components.models.nets.categorical_rbm import CategoricalRBMEnergy


@component("categorical_rbm")
class CategoricalRBM(Model):
    """Restricted Boltzmann machine with categorical (softmax) visible units, and hidden units of two values.

        E(v, h) = -sum_i b_i(v_i) - c'h - sum_i W_i(v_i)'h
        E(v) = -sum_i b_i(v_i) - sum_j log(1 + exp(c_j + sum_i W_ij(v_i))),    the free energy, for values 0 and 1
        p(v_i = k | h) = softmax_k(b_i(k) + W_i(k)'h),    p(h_j = 1 | v) = sigmoid(c_j + sum_i W_ij(v_i))

    Weights and biases are trainable: a row of weights and a bias for each category of each visible unit. `gibbs` draws
    one layer given the other. With at most 20 hidden units it offers exact samples, and with at most 25 log Z, by their
    enumeration.

    Parameters:
        categories: K, which must be that of the data; the categories are 0 to K - 1.
        hidden: number of hidden units; by default as many as `weights` has columns, or 64.
        weights: W, a row for each category of the first visible unit, then of the second one, and so on, and a column
            per hidden unit; by default small and random.
        visible_biases: b, a row of K numbers for each visible unit; by default zero.
        hidden_biases: c, one number per hidden unit; by default zero.
        shape: shape of a visible state. Without it a state is a flat list as long as `visible_biases`, or has the shape
            of the data.
        values: `binary` for hidden units of 0 and 1, `spin` for -1 and +1.

    Reference: Salakhutdinov, Mnih and Hinton, "Restricted Boltzmann machines for collaborative filtering", ICML 2007.

    Example: model: {use: categorical_rbm, categories: 3, hidden: 16, shape: [4]}
    """

    space: ClassVar[Space] = "categorical"
    offers: ClassVar[frozenset[str]] = frozenset(
        {"energy", "gradient", "conditionals", "blocks", "sweeps", "hidden", "posterior", "activations"}
    )
    learning_rate: ClassVar[float] = 1e-2

    categories: Categories = 3
    hidden: Count | None = None
    weights: Rows | None = None
    visible_biases: Fields | None = None
    hidden_biases: Numbers | None = None
    shape: Shape | None = None
    values: Values = "binary"

    def __post_init__(self) -> None:
        event = self.event()
        if self.visible_biases is not None:
            check_fields(self.visible_biases, None if event is None else prod(event), self.categories, "visible_biases")
        if self.weights is not None:
            if event is None:
                raise ValueError("'weights' needs 'shape' or 'visible_biases', which give the number of visible units")
            rows = prod(event) * self.categories
            if len(self.weights) != rows:
                raise ValueError(
                    f"'weights' has {len(self.weights)} rows, but {prod(event)} visible units of {self.categories} "
                    f"categories need {rows}"
                )
            check_layers((rows,), self.hidden_units, self.weights)
        check_layers(event, self.hidden_units, None, hidden_biases=(1, self.hidden_biases))

    @property
    def hidden_units(self) -> int:
        """The number of hidden units."""
        return hidden_count(self.hidden, self.weights, self.hidden_biases)

    def traits(self) -> ModelTraits:
        exact = {"sample_exact"} if self.hidden_units <= LARGEST_LAYER else set()
        if self.hidden_units <= LARGEST_SUM:
            exact.add("log_z")
        traits = super().traits()
        return traits._replace(categories=self.categories, offers=traits.offers | exact)

    def event(self) -> Event | None:
        return visible_shape(self.shape, self.visible_biases)

    def parameter_count(self, event: Event) -> int:
        rows, hidden = prod(event) * self.categories, self.hidden_units
        return rows * hidden + rows + hidden

    def build(self, event: Event) -> CategoricalRBMEnergy:
        from ebmkit.components.models.nets.categorical_rbm import CategoricalRBMEnergy
        from ebmkit.maths.enumeration import VALUES

        biases = as_tensor(self.visible_biases)
        return CategoricalRBMEnergy(
            event,
            self.categories,
            VALUES[self.values],
            self.hidden_units,
            as_tensor(self.weights),
            None if biases is None else biases.flatten(),
            as_tensor(self.hidden_biases),
        )
