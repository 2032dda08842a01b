"""The U-Net as a score of noised images."""

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
    from ebmkit.components.models.nets.noised_network import NoisedScore


@component("unet_score")
class UNetScore(Model):
    """Score of noised images by a U-Net conditioned on the noise level.

        s(x, sigma) = -(x - center) / (sigma^2 + scale^2) + scale / (sigma spread) F((x - center) / spread, log sigma)
        spread = sqrt(sigma^2 + scale^2)

    As in `mlp_score`, with a network F that processes an image at several sizes. A state has shape (channels, height,
    width).

    Parameters:
        schedule: the noise levels, or the process in time, the same as those of objective and sampler.
        channels: number of feature maps at full size, a multiple of 8.
        multipliers: factor of this number at each size; every entry but the first halves the image.
        blocks: number of residual blocks at each size, in each of the two paths.
        classes: number of labels, for a score of the data given a label; null learns without labels.

    Reference: Ronneberger et al., "U-Net: convolutional networks for biomedical image segmentation", arXiv:1505.04597;
    Ho et al., "Denoising diffusion probabilistic models", arXiv:2006.11239; Karras et al., arXiv:2206.00364 (scaling).

    Example: model: {use: unet_score, schedule: {use: geometric, sigma_max: 10.0}, multipliers: [1, 2]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"score"})

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

    def build(self, event: Event) -> NoisedScore:
        from ebmkit.components.models.nets.noised_network import NoisedScore
        from ebmkit.components.models.nets.unet import UNet

        network = UNet(event, self.channels, self.multipliers, self.blocks, self.classes)
        return NoisedScore(self.schedule, event, network, self.classes)
