"""The Gaussian-Bernoulli restricted Boltzmann machine."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt, MinLen

from ebmkit.components.models.couplings import Values
from ebmkit.components.models.layers import (
    LARGEST_LAYER,
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
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.gaussian_rbm import GaussianRBMEnergy

#: Maximum number of hidden units for log Z: a matrix product of 2^15 x 15 x 2^15, and 2^30 exponentials, in a minute.
LARGEST_PAIRED_SUM = 30


@component("gaussian_rbm")
class GaussianRBM(Model):
    """Gaussian-Bernoulli restricted Boltzmann machine: real visible units, hidden units of two values.

        E(v, h) = sum_i (v_i - b_i)^2 / (2 std_i^2) - c'h - (v / std)'Wh
        p(v | h) = N(b + std W h, std^2),    p(h_j = 1 | v) = sigmoid(c_j + ((v / std)'W)_j) for values 0 and 1

    A mixture of 2^H Gaussians of the same width, whose energy is the free energy, with the sum over h taken. Weights
    and biases are trainable. `gibbs` draws one layer given the other, and samplers of real states move v alone. With at
    most 20 hidden units it offers exact samples, and with at most 30 log Z, by enumeration. Beigy's lecture prints 1 in
    place of c_j.

    Parameters:
        hidden: number of hidden units; by default as many as `weights` has columns, or 64.
        weights: W, a row per visible unit and a column per hidden unit; by default small and random.
        visible_biases: b, one number per visible unit; by default zero.
        hidden_biases: c, one number per hidden unit; by default zero.
        std: standard deviation of a visible unit given the hidden ones, one number for all or one each.
        learn_std: whether the standard deviations are trained, one per visible unit.
        shape: shape of a visible state, such as [1, 8, 8]. Without it a state is a flat list as long as `weights`,
            `visible_biases` or `std`, or has the shape of the data.
        values: `binary` for hidden units of 0 and 1, `spin` for -1 and +1.

    Reference: Welling, Rosen-Zvi and Hinton, "Exponential family harmoniums", NeurIPS 2004; Cho, Ilin and Raiko,
    "Improved learning of Gaussian-Bernoulli restricted Boltzmann machines", ICANN 2011.

    Example: model: {use: gaussian_rbm, weights: [[2, -1], [0, 1.5]], visible_biases: [-1, 0.5], std: 0.5}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", *LAYER_OFFERS})
    learning_rate: ClassVar[float] = 1e-2

    hidden: Count | None = None
    weights: Rows | None = None
    visible_biases: Numbers | None = None
    hidden_biases: Numbers | None = None
    std: Annotated[float, Gt(0)] | Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] = 1.0
    learn_std: bool = False
    shape: Shape | None = None
    values: Values = "binary"

    def __post_init__(self) -> None:
        check_layers(
            self.event(),
            self.hidden_units,
            self.weights,
            visible_biases=(0, self.visible_biases),
            hidden_biases=(1, self.hidden_biases),
            std=(0, self.std),
        )

    @property
    def hidden_units(self) -> int:
        """The number of hidden units."""
        return hidden_count(self.hidden, self.weights, self.hidden_biases)

    def traits(self) -> ModelTraits:
        traits = super().traits()
        exact = {"sample_exact"} if self.hidden_units <= LARGEST_LAYER else set()
        if self.hidden_units <= LARGEST_PAIRED_SUM:
            exact.add("log_z")
        return traits._replace(offers=traits.offers | exact, own_units=self.event() is not None or self.std != 1)

    def event(self) -> Event | None:
        return visible_shape(self.shape, self.weights, self.visible_biases, self.std)

    def parameter_count(self, event: Event) -> int:
        visible, hidden = prod(event), self.hidden_units
        return visible * hidden + visible + hidden + (visible if self.learn_std else 0)

    def build(self, event: Event) -> GaussianRBMEnergy:
        from ebmkit.components.models.nets.gaussian_rbm import GaussianRBMEnergy
        from ebmkit.maths.enumeration import VALUES

        return GaussianRBMEnergy(
            event,
            VALUES[self.values],
            self.hidden_units,
            as_tensor(self.weights),
            as_tensor(self.visible_biases),
            as_tensor(self.hidden_biases),
            torch.tensor(self.std, dtype=torch.float64).expand(prod(event)).clone(),
            self.learn_std,
        )
