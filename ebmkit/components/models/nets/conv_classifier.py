"""A convolutional classifier as an energy, as a module."""

from __future__ import annotations

from torch import Tensor

from ebmkit.components.models.conv_layers import Architecture
from ebmkit.components.models.nets.conv import ConvEnergy


class ConvClassifierEnergy(ConvEnergy):
    """`E(x) = -log sum_y exp f(x)[y] + |x|^2 / (2 base_scale^2)` on images."""

    def __init__(
        self,
        event: tuple[int, ...],
        classes: int,
        architecture: Architecture,
        head: str,
        activation: str,
        base_scale: float | None,
    ) -> None:
        super().__init__(event, architecture, head, activation, None, base_scale, outputs=classes)

    def logits(self, x: Tensor) -> Tensor:
        """f(x), whose softmax is p(y | x): the base is the same for all classes and cancels."""
        logits: Tensor = self.last(self.features(x))
        return logits

    def read(self, outputs: Tensor) -> Tensor:
        """-log sum_y exp f[y]."""
        return -outputs.logsumexp(1)

    def read_and_grad(self, outputs: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """dE/df = -softmax(f)."""
        return -outputs.logsumexp(1), -(outputs.softmax(1) @ weight)
