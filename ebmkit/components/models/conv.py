"""The convolutional energy network."""

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
    """Convolutional energy network for images, plus a quadratic base that confines the density.

        E(x) = f(x) + |x|^2 / (2 base_scale^2),    f = linear o dense o ... o head o convolution o ... o convolution

    A state has shape (channels, height, width). An activation follows every layer but the last.

    With `spectral_norm`, the weight W of every layer is divided by an estimate of its largest singular value, which
    bounds the slope of f. The W of a convolution is its kernel as a matrix with one row per output channel. The norm of
    the convolution itself can be larger if windows overlap, by a factor of at most ceil(kernel / stride).

    Parameters:
        preset: the layers of a published network; thesis_a is for images of 28 x 28, thesis_b and thesis_c for 32 x 32.
        layers: the convolutions in order, each as {channels: 64, kernel: 3, stride: 1, padding: 1}; `channels` has no
            default, the others have these. With neither a list nor a preset there are three, which halve the image
            twice.
        head: reduction of the last feature maps: `flatten` keeps all positions, `sum` adds over them.
        dense: width of each fully connected layer after the head.
        activation: activation function of the hidden layers. `leaky_relu` has slope 0.2 below zero; like `relu` it is
            piecewise linear and has no curvature.
        spectral_norm: divide every weight by its largest singular value.
        power_iterations: number of power iterations that update the singular value in each training pass. It is fixed
            while chains run.
        base_scale: standard deviation of the Gaussian base, larger than that of the data; null removes the base.

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
            raise ValueError(f"the preset '{self.preset}' defines layers and head, so {written} cannot be set")

    def traits(self) -> ModelTraits:
        return super().traits()._replace(smooth=is_smooth(self.activation))

    @property
    def architecture(self) -> Architecture:
        """The layers of the preset, of the parameters, or the default ones."""
        if self.preset:
            return PRESETS[self.preset]
        return Architecture(self.layers or SMALL.layers, self.dense)

    def refusal(self, question: Question) -> str | None:
        try:
            shape_after(self.architecture.layers, question.event)
        except ValueError as error:
            return str(error)
        return None

    def parameter_count(self, event: Event) -> int:
        return self.architecture.parameter_count(event, self.head, outputs=1)

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
