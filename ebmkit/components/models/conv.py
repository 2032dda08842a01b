"""The convolutional network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge, Gt, MinLen

from ebmkit.components.models.conv_layers import PRESETS, SMALL, Architecture, ConvLayer, shape_after
from ebmkit.components.models.smooth import is_smooth
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.conv import ConvEnergy


@component("conv")
class Conv(Model):
    """A convolutional energy of images on top of a quadratic base, which keeps chains from running away.

        E(x) = f(x) + |x|^2 / (2 base_scale^2),    f = linear o dense o ... o head o convolution o ... o convolution

    A state has shape (channels, height, width). An activation stands behind every layer but the last.

    With `spectral_norm`, the weight W of every layer is divided by an estimate of its largest singular value, so that
    f does not become steep, whatever is learnt. The W of a convolution is its kernel as a matrix, one row for each
    channel that it makes. The norm of the convolution itself can be larger where windows overlap, but not by more than
    ceil(kernel / stride).

    Parameters:
        preset: the layers of a published network; thesis_a is for images of 28 x 28, thesis_b and thesis_c for 32 x 32.
        layers: the convolutions in order, each as {channels: 64, kernel: 3, stride: 1, padding: 1}; `channels` has no
            default, the others have these. With neither a list nor a preset there are three, which halve the image
            twice.
        head: what becomes of the last feature maps: `flatten` keeps the positions apart, `sum` adds over them.
        dense: width of each fully connected layer behind the head.
        activation: what stands between the layers. `leaky_relu` has slope 0.2 below zero; like `relu` it bends sharply
            and has no curvature between its bends.
        spectral_norm: divide every weight by its largest singular value.
        power_iterations: how many steps of the power method follow the singular value in each training pass. While
            chains run nothing moves.
        base_scale: standard deviation of the Gaussian base, larger than the data; null takes the base away.

    Reference: Xu, "Self-adapting noise-contrastive estimation for energy-based models", arXiv:2211.02650, algorithm
    3.2 and table 5.1; Miyato et al., "Spectral normalization for generative adversarial networks", arXiv:1802.05957.

    Example: model: {use: conv, layers: [{channels: 32}, {channels: 64, kernel: 4, stride: 2}], spectral_norm: true}
    """

    preset: Literal["thesis_a", "thesis_b", "thesis_c"] | None = None
    layers: Annotated[tuple[ConvLayer, ...], MinLen(1)] | None = None
    head: Literal["flatten", "sum"] = "flatten"
    dense: tuple[Annotated[int, Ge(1)], ...] = ()
    activation: Literal["leaky_relu", "silu", "softplus", "gelu", "tanh", "relu"] = "leaky_relu"
    spectral_norm: bool = False
    power_iterations: Annotated[int, Ge(1)] = 1
    base_scale: Annotated[float, Gt(0)] | None = 2.0

    def __post_init__(self) -> None:
        own = {"layers": self.layers is not None, "dense": bool(self.dense), "head": self.head != "flatten"}
        if self.preset and any(own.values()):
            written = " and ".join(f"'{name}'" for name, given in own.items() if given)
            raise ValueError(f"the preset '{self.preset}' brings its own layers and head, so {written} cannot be set")

    def traits(self) -> ModelTraits:
        return super().traits()._replace(smooth=is_smooth(self.activation))

    @property
    def architecture(self) -> Architecture:
        """The layers, wherever they are listed."""
        if self.preset:
            return PRESETS[self.preset]
        return Architecture(self.layers or SMALL.layers, self.dense)

    def refusal(self, question: Question) -> str | None:
        try:
            shape_after(self.architecture.layers, question.event)
        except ValueError as error:
            return str(error)
        return None

    def build(self, event: Event) -> ConvEnergy:
        from ebmkit.components.models.nets.conv import ConvEnergy

        return ConvEnergy(
            event,
            self.architecture,
            self.head,
            self.activation,
            self.power_iterations if self.spectral_norm else None,
            self.base_scale,
        )
