"""A convolutional classifier as a joint energy-based model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, MinLen

from ebmkit.components.models.conv_layers import SMALL, Architecture, ConvLayer, shape_after
from ebmkit.components.models.smooth import is_smooth
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.conv_classifier import ConvClassifierEnergy


@component("conv_classifier")
class ConvClassifier(Model):
    """Joint energy-based model (JEM) of images and labels: the logits of a convolutional classifier.

        E(x, y) = -f(x)[y] + |x|^2 / (2 base_scale^2)
        E(x) = -log sum_y exp f(x)[y] + |x|^2 / (2 base_scale^2),    p(y | x) = softmax f(x)
        f = linear o dense o ... o head o convolution o ... o convolution

    A state has shape (channels, height, width). An activation follows every layer but the last. It is to `conv` what
    `classifier` is to `mlp`.

    Parameters:
        classes: number K of logits; labels are 0 to K - 1.
        layers: the convolutions in order, each as {channels: 64, kernel: 3, stride: 1, padding: 1}; `channels` has no
            default, the others have these. Without a list there are three, which halve the image twice.
        head: reduction of the last feature maps: `flatten` keeps all positions, `sum` adds over them.
        dense: width of each fully connected layer after the head.
        activation: activation function of the hidden layers. `leaky_relu` has slope 0.2 below zero; like `relu` it is
            piecewise linear and has no curvature.
        base_scale: standard deviation of the Gaussian base, larger than that of the data; null removes the base.

    Reference: Grathwohl et al., "Your classifier is secretly an energy based model and you should treat it like one",
    arXiv:1912.03263.

    Example: model: {use: conv_classifier, classes: 10, layers: [{channels: 16}, {channels: 32, kernel: 4, stride: 2}]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "logits"})

    classes: Annotated[int, Ge(1)] = 10
    layers: Annotated[tuple[ConvLayer, ...], MinLen(1)] = SMALL.layers
    head: Literal["flatten", "sum"] = "flatten"
    dense: tuple[Annotated[int, Ge(1)], ...] = ()
    activation: Literal["leaky_relu", "silu", "softplus", "gelu", "tanh", "relu"] = "silu"
    base_scale: Annotated[float, Gt(0)] | None = 2.0

    def traits(self) -> ModelTraits:
        return super().traits()._replace(smooth=is_smooth(self.activation), classes=self.classes)

    def refusal(self, question: Question) -> str | None:
        try:
            shape_after(self.layers, question.event)
        except ValueError as error:
            return str(error)
        return None

    def parameter_count(self, event: Event) -> int:
        return Architecture(self.layers, self.dense).parameter_count(event, self.head, outputs=self.classes)

    def build(self, event: Event) -> ConvClassifierEnergy:
        from ebmkit.components.models.nets.conv_classifier import ConvClassifierEnergy

        architecture = Architecture(self.layers, self.dense)
        return ConvClassifierEnergy(event, self.classes, architecture, self.head, self.activation, self.base_scale)
