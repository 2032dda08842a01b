"""The multilayer perceptron."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt

from ebmkit.component import component
from ebmkit.kinds import Event, Model

if TYPE_CHECKING:
    from ebmkit.nets.mlp import MLPEnergy


@component("mlp")
class MLP(Model):
    """A fully connected energy on top of a quadratic base, which keeps chains from running away.

        E(x) = f(x) + |x|^2 / (2 base_scale^2),    f = linear o activation o linear o ... o linear

    A state of any shape is flattened. A network alone confines nothing: exp(-f) need not be integrable.

    Parameters:
        hidden: width of each hidden layer; an empty list makes f linear.
        activation: what stands between the layers. `relu` bends sharply and has no curvature between its bends.
        base_scale: standard deviation of the Gaussian base, larger than the data; null takes the base away.

    Reference: Du and Mordatch, "Implicit generation and modeling with energy-based models", arXiv:1903.08689.

    Example: model: {use: mlp, hidden: [128, 128], activation: silu}
    """

    hidden: tuple[Annotated[int, Ge(1)], ...] = (128, 128)
    activation: Literal["silu", "softplus", "gelu", "tanh", "relu"] = "silu"
    base_scale: Annotated[float, Gt(0)] | None = 2.0

    def build(self, event: Event) -> MLPEnergy:
        from ebmkit.nets.mlp import MLPEnergy

        return MLPEnergy(event, self.hidden, self.activation, self.base_scale)
