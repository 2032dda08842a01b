"""The fully connected network as a score of noised data."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge, MinLen

from ebmkit.components.models.dense_rate import dense_rate
from ebmkit.components.models.noised_layers import noised_dense
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Schedule
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.noised_network import NoisedScore


@component("mlp_score")
class MLPScore(Model):
    """Score of noised data by a fully connected network (MLP) conditioned on the noise level.

        s(x, sigma) = -(x - center) / (sigma^2 + scale^2) + scale / (sigma spread) F((x - center) / spread, log sigma)
        spread = sqrt(sigma^2 + scale^2)

    The first term is the score of a Gaussian that is fitted to the data and noised; F is learned. For a process in
    time, x and s are those of x_t / signal, with sigma = noise / signal. The field need not be the gradient of an
    energy; that of `mlp_potential` is. A state of any shape is flattened.

    Parameters:
        schedule: the noise levels, or the process in time, the same as those of objective and sampler.
        hidden: width of each hidden layer.
        activation: activation function of the hidden layers.
        classes: number of labels, for a score of the data given a label; null learns without labels.

    Reference: Song and Ermon, "Generative modeling by estimating gradients of the data distribution", arXiv:1907.05600;
    Karras et al., "Elucidating the design space of diffusion-based generative models", arXiv:2206.00364 (the scaling).

    Example: model: {use: mlp_score, schedule: {use: geometric, sigma_max: 5.0}, hidden: [128, 128]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"score"})

    schedule: Schedule = Geometric()
    hidden: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (128, 128, 128)
    activation: Literal["silu", "softplus", "gelu", "tanh", "relu"] = "silu"
    classes: Annotated[int, Ge(1)] | None = None

    def traits(self) -> ModelTraits:
        rate = dense_rate(self.hidden)
        return super().traits()._replace(labelled=self.classes is not None, classes=self.classes, learning_rate=rate)

    def parameter_count(self, event: Event) -> int:
        return noised_dense(prod(event), self.hidden, prod(event), self.classes)

    def build(self, event: Event) -> NoisedScore:
        from ebmkit.components.models.nets.noised_dense import DenseScore
        from ebmkit.components.models.nets.noised_network import NoisedScore

        network = DenseScore(event, prod(event), self.hidden, self.activation, self.classes)
        return NoisedScore(self.schedule, event, network, self.classes)
