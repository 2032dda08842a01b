"""A classifier that is an energy too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, Gt

from ebmkit.components.models.smooth import is_smooth
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.classifier import ClassifierEnergy


@component("classifier")
class Classifier(Model):
    """A fully connected classifier, whose logits f are energies of points with labels.

        E(x, y) = -f(x)[y] + |x|^2 / (2 base_scale^2)
        E(x) = -log sum_y exp f(x)[y] + |x|^2 / (2 base_scale^2),    p(y | x) = softmax f(x)

    A constant added to all logits of x leaves p(y | x) and moves E(x): cross-entropy says nothing about p(x), and `jem`
    learns both. A state of any shape is flattened. The base is the same for all classes.

    Parameters:
        classes: number K of logits; labels are 0 to K - 1.
        hidden: width of each hidden layer; an empty list makes f linear.
        activation: what stands between the layers. `relu` bends sharply and has no curvature between its bends.
        base_scale: standard deviation of the Gaussian base, larger than the data; null takes the base away.

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
        return super().traits()._replace(smooth=is_smooth(self.activation))

    def build(self, event: Event) -> ClassifierEnergy:
        from ebmkit.components.models.nets.classifier import ClassifierEnergy

        return ClassifierEnergy(event, self.classes, self.hidden, self.activation, self.base_scale)
