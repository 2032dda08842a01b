"""A classifier as a joint energy-based model."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Gt

from ebmkit.components.models.dense_rate import dense_rate
from ebmkit.components.models.smooth import is_smooth
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.traits import ModelTraits
from ebmkit.maths.parameter_counts import dense

if TYPE_CHECKING:
    from ebmkit.components.models.nets.classifier import ClassifierEnergy


@component("classifier")
class Classifier(Model):
    """Joint energy-based model (JEM) of points and labels: the logits of a fully connected classifier.

        E(x, y) = -f(x)[y] + |x|^2 / (2 base_scale^2)
        E(x) = -log sum_y exp f(x)[y] + |x|^2 / (2 base_scale^2),    p(y | x) = softmax f(x)

    A constant added to all logits f of x changes E(x), but not p(y | x): cross-entropy does not determine p(x), while
    `jem` learns both. A state of any shape is flattened. The base is the same for all classes.

    Parameters:
        classes: number K of logits; labels are 0 to K - 1.
        hidden: width of each hidden layer; an empty list makes f linear.
        activation: activation function of the hidden layers. `relu` is piecewise linear and has no curvature.
        base_scale: standard deviation of the Gaussian base, larger than that of the data; null removes the base.

    Reference: Grathwohl et al., "Your classifier is secretly an energy based model and you should treat it like one",
    arXiv:1912.03263.

    Example: model: {use: classifier, classes: 10, hidden: [256, 256]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "logits"})

    classes: Annotated[int, Ge(1)] = 10
    hidden: tuple[Annotated[int, Ge(1)], ...] = (128, 128)
    activation: Literal["silu", "softplus", "gelu", "tanh", "relu"] = "silu"
    base_scale: Annotated[float, Gt(0)] | None = 2.0

    def traits(self) -> ModelTraits:
        return (
            super()
            .traits()
            ._replace(learning_rate=dense_rate(self.hidden), smooth=is_smooth(self.activation), classes=self.classes)
        )

    def parameter_count(self, event: Event) -> int:
        return dense([prod(event), *self.hidden, self.classes])

    def build(self, event: Event) -> ClassifierEnergy:
        from ebmkit.components.models.nets.classifier import ClassifierEnergy

        return ClassifierEnergy(event, self.classes, self.hidden, self.activation, self.base_scale)
