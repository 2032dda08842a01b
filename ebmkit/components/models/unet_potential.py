"""The U-Net as an energy of noised images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, MinLen

from ebmkit.components.models.unet_layers import check_channels, other_image, parameter_count
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Schedule
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import ModelTraits

if TYPE_CHECKING:
    from ebmkit.components.models.nets.noised_network import NoisedPotential


@component("unet_potential")
class UNetPotential(Model):
    """Energy of noised images by a U-Net conditioned on the noise level.

        E(x, sigma) = |x - center|^2 / (2 spread^2) - scale / sigma g((x - center) / spread, log sigma)
        s = -dE/dx,    g(u) = u . F(u) / sqrt(d),    spread = sqrt(sigma^2 + scale^2)

    As in `mlp_potential`, with g the inner product of the input and the output of a network F. A state has shape
    (channels, height, width).

    Parameters:
        schedule: the noise levels, or the process in time, the same as those of objective and sampler.
        channels: number of feature maps at full size, a multiple of 8.
        multipliers: factor of this number at each size; every entry but the first halves the image.
        blocks: number of residual blocks at each size, in each of the two paths.
        classes: number of labels, for an energy of the data given a label; null learns without labels.

    Reference: Salimans and Ho, "Should EBMs model the energy or the score?", EBM workshop at ICLR, 2021; Du et al.,
    "Reduce, reuse, recycle", arXiv:2302.11552 (energies from networks of this form).

    Example: model: {use: unet_potential, schedule: {use: geometric, sigma_max: 10.0}, multipliers: [1, 2]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "score"})

    schedule: Schedule = Geometric()
    channels: Annotated[int, Ge(8)] = 32
    multipliers: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (1, 2)
    blocks: Annotated[int, Ge(1)] = 1
    classes: Annotated[int, Ge(1)] | None = None

    def __post_init__(self) -> None:
        check_channels(self.channels)

    def traits(self) -> ModelTraits:
        return super().traits()._replace(labelled=self.classes is not None, classes=self.classes)

    def refusal(self, question: Question) -> str | None:
        return other_image(question.event, self.channels, self.multipliers)

    def parameter_count(self, event: Event) -> int:
        return parameter_count(event, self.channels, self.multipliers, self.blocks, self.classes)

    def build(self, event: Event) -> NoisedPotential:
        from ebmkit.components.models.nets.noised_network import NoisedPotential
        from ebmkit.components.models.nets.unet import UNetPotential

        network = UNetPotential(event, self.channels, self.multipliers, self.blocks, self.classes)
        return NoisedPotential(self.schedule, event, network, self.classes)
