"""Conditional noise-contrastive estimation."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge

from ebmkit.components.noise.conditional_gaussian import ConditionalGaussianNoise
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Noise, Objective, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.conditional_density import ConditionalDensity


@component("conditional_nce")
class ConditionalNCE(Objective):
    """Conditional noise-contrastive estimation: classify data points against noise around them, without log Z.

        L = E softplus(-G(x, y)),    G(x, y) = E(y) - E(x) + log p(y | x) - log p(x | y),    y ~ p(y | x)

    log Z cancels; the energy is determined up to a constant.

    Parameters:
        noise: the distribution of y given a data point x.
        noise_ratio: noise samples per data point.

    Reference: Ceylan and Gutmann, "Conditional noise-contrastive estimation of unnormalised models", arXiv:1806.03664.

    Example: objective: {use: conditional_nce, noise_ratio: 2}
    """

    consistent: ClassVar[bool] = True

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    noise_needs: ClassVar[frozenset[str]] = frozenset({"conditional"})

    noise: Noise = ConditionalGaussianNoise()
    noise_ratio: Annotated[int, Ge(1)] = 4

    def traits(self) -> ObjectiveTraits:
        ratio = self.noise_ratio
        return super().traits()._replace(evaluations=1.5 * (1 + ratio), noise_ratio=ratio, blind_loss=log(2))

    def extras(self, event: Event, data: Tensor) -> ConditionalDensity:
        return cast("ConditionalDensity", self.noise.build(event, data)).requires_grad_(False)

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        noise = cast("ConditionalDensity", context.extras)
        x = batch.repeat_interleave(self.noise_ratio, dim=0)
        y = noise.sample(x, context.rng)
        at_data, at_noise = model(torch.cat([batch, y])).split([len(batch), len(y)])
        difference = at_noise - at_data.repeat_interleave(self.noise_ratio)
        g = difference + noise.log_prob(y, x) - noise.log_prob(x, y)
        value = torch.nn.functional.softplus(-g).mean()
        accuracy = (g > 0).to(batch.dtype).mean()
        return Loss(value, {"energy_difference": difference.detach().mean(), "accuracy": accuracy})
