"""Denoising score matching at many noise levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge, MinLen

from ebmkit.components.objectives.noised_batch import denoising_losses, even_shares
from ebmkit.components.schedules.geometric import Geometric
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Schedule, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.states import Conditioning
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.models.nets.conditional import Conditional
    from ebmkit.contracts.context import Context


@component("noise_conditional_score_matching")
class NoiseConditionalScoreMatching(Objective):
    """Noise-conditional score matching (NCSN): denoising score matching at many levels with one conditioned network.

        L = 1/L sum_i lambda(sigma_i) 1/2 E |s(x + sigma_i xi, sigma_i) + xi / sigma_i|^2
        lambda(sigma) = sigma^power

    Each point of a batch gets one level, evenly over the levels, so that a step costs as much as with a single level.
    With lambda = sigma^2 all levels have equal weight.

    Parameters:
        schedule: the noise levels, the same as the model's.
        power: exponent of sigma in the weight.
        weights: one weight lambda_i for each level, from the largest sigma to the smallest, in place of the power.

    Reference: Song and Ermon, "Generative modeling by estimating gradients of the data distribution", arXiv:1907.05600,
    equation 6.

    Example: objective: {use: noise_conditional_score_matching, schedule: {use: geometric, sigma_max: 5.0}}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"score"})
    conditioning: ClassVar[Conditioning] = "sigma"

    schedule: Schedule = Geometric()
    power: float = 2.0
    weights: Annotated[tuple[Annotated[float, Ge(0)], ...], MinLen(1)] | None = None

    def __post_init__(self) -> None:
        if self.weights is None or self.schedule is None or self.schedule.conditioning != "sigma":
            return
        if len(self.weights) != self.schedule.count:
            raise ValueError(f"{len(self.weights)} weights for {self.schedule.count} noise levels: give one per level")
        if not any(self.weights):
            raise ValueError("'weights' are all zero: at least one must be positive")

    def traits(self) -> ObjectiveTraits:
        return super().traits()._replace(schedule=self.schedule)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        network = cast("Conditional", model)
        assert network.levels is not None
        count = len(network.levels)
        index = (even_shares(batch, context.rng) * count).long().clamp_(max=count - 1)
        xi = torch.empty_like(batch).normal_(generator=context.rng)
        losses, sigma = denoising_losses(network, batch, network.levels[index], xi, context.labels)
        if self.weights is not None:
            weight = batch.new_tensor(self.weights)[index] / sigma.square()
        elif self.power != 2:
            weight = sigma.pow(self.power - 2)
        else:
            return Loss(losses.mean(), {})
        return Loss((weight * losses).mean(), {"unweighted": losses.mean().detach()})
