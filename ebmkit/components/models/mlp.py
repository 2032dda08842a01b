"""The fully connected energy network."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt

from ebmkit.components.models.dense_rate import dense_rate
from ebmkit.components.models.smooth import is_smooth
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.traits import ModelTraits
from ebmkit.maths.parameter_counts import dense

if TYPE_CHECKING:
    from ebmkit.components.models.nets.mlp import MLPEnergy


@component("mlp")
class MLP(Model):
    """Fully connected energy network (MLP), plus a quadratic base that confines the density.

        E(x) = f(x) + |x|^2 / (2 base_scale^2),    f = linear o activation o linear o ... o linear

    A state of any shape is flattened. Without a base, exp(-f) need not be integrable.

    Parameters:
        hidden: width of each hidden layer; an empty list makes f linear.
        activation: activation function of the hidden layers. `relu` is piecewise linear and has no curvature.
        base_scale: standard deviation of the Gaussian base, larger than that of the data; null removes the base.
        spectral_norm: divide every weight by an estimate of its largest singular value, which bounds the slope of f by
            the product of the slopes of the activations.
        power_iterations: number of power iterations that update the singular value in each training pass. It is fixed
            while chains run.

    Reference: Du and Mordatch, "Implicit generation and modeling with energy-based models", arXiv:1903.08689; Miyato et
    al., "Spectral normalization for generative adversarial networks", arXiv:1802.05957.

    Example: model: {use: mlp, hidden: [128, 128], activation: silu}
    """

    hidden: tuple[Annotated[int, Ge(1)], ...] = (128, 128)
    activation: Literal["silu", "softplus", "gelu", "tanh", "relu"] = "silu"
    base_scale: Annotated[float, Gt(0)] | None = 2.0
    spectral_norm: bool = False
    power_iterations: Annotated[int, Ge(1)] = 1

    def traits(self) -> ModelTraits:
        return super().traits()._replace(learning_rate=dense_rate(self.hidden), smooth=is_smooth(self.activation))

    def parameter_count(self, event: Event) -> int:
        return dense([prod(event), *self.hidden, 1])

    def build(self, event: Event) -> MLPEnergy:
        from ebmkit.components.models.nets.mlp import MLPEnergy

        power_iterations = self.power_iterations if self.spectral_norm else None
        return MLPEnergy(event, self.hidden, self.activation, self.base_scale, power_iterations)
