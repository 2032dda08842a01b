"""The fully connected network as an energy of noised data."""

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
    from ebmkit.components.models.nets.noised_network import NoisedPotential


@component("mlp_potential")
class MLPPotential(Model):
    """Energy of noised data by a fully connected network (MLP) conditioned on the noise level.

        E(x, sigma) = |x - center|^2 / (2 spread^2) - scale / sigma g((x - center) / spread, log sigma)
        s = -dE/dx,    spread = sqrt(sigma^2 + scale^2)

    The first term is the energy of a Gaussian that is fitted to the data and noised; g is learned, and its gradient
    takes the place of F in `mlp_score`. The score is a gradient and costs a forward and a backward pass. For a process
    in time, x is x_t / signal and sigma = noise / signal. A state of any shape is flattened.

    Parameters:
        schedule: the noise levels, or the process in time, the same as those of objective and sampler.
        hidden: width of each hidden layer.
        activation: activation function of the hidden layers; smooth, because the gradient is learned.
        classes: number of labels, for an energy of the data given a label; null learns without labels.

    Reference: Salimans and Ho, "Should EBMs model the energy or the score?", EBM workshop at ICLR, 2021; Karras et al.,
    "Elucidating the design space of diffusion-based generative models", arXiv:2206.00364 (the scaling).

    Example: model: {use: mlp_potential, schedule: {use: geometric, sigma_max: 5.0}, hidden: [128, 128]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "score"})

    schedule: Schedule = Geometric()
    hidden: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (128, 128, 128)
    activation: Literal["silu", "softplus", "gelu", "tanh"] = "silu"
    classes: Annotated[int, Ge(1)] | None = None

    def traits(self) -> ModelTraits:
        rate = dense_rate(self.hidden)
        return super().traits()._replace(labelled=self.classes is not None, classes=self.classes, learning_rate=rate)

    def parameter_count(self, event: Event) -> int:
        return noised_dense(prod(event), self.hidden, 1, self.classes)

    def build(self, event: Event) -> NoisedPotential:
        from ebmkit.components.models.nets.noised_dense import DensePotential
        from ebmkit.components.models.nets.noised_network import NoisedPotential

        network = DensePotential(event, 1, self.hidden, self.activation, self.classes)
        return NoisedPotential(self.schedule, event, network, self.classes)
