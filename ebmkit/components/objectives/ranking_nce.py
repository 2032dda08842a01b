"""Ranking noise-contrastive estimation."""

from __future__ import annotations

from math import log1p
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge

from ebmkit.components.noise.gaussian import GaussianNoise
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Noise, Objective
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.objectives.nets.contrast import Contrast
    from ebmkit.contracts.context import Context
    from ebmkit.contracts.modules.density import Density


@component("ranking_nce")
class RankingNCE(Objective):
    """Ranking noise-contrastive estimation: softmax classification of a data point among noise samples, without log Z.

        L = -E log (u(x_0) / sum_{k=0..K} u(x_k)),    log u(x) = -E(x) - log p_noise(x),    x_0 data, the others noise

    log Z cancels; the energy is determined up to a constant. The thesis prints the softmax of `rho_k u_k` (its equation
    2.14) and means the softmax of its logarithm; here all positions are equally likely, so that rho cancels.

    Parameters:
        noise: the distribution that data are contrasted with; it must cover them.
        negatives: K, number of noise samples for each data point.

    Reference: Jozefowicz et al., arXiv:1602.02410; Ma and Collins, arXiv:1809.01812; Xu, thesis, Tsinghua 2022,
    section 2.3.

    Example: objective: {use: ranking_nce, negatives: 4}
    """

    consistent: ClassVar[bool] = True

    noise: Noise = GaussianNoise()
    negatives: Annotated[int, Ge(1)] = 8

    def traits(self) -> ObjectiveTraits:
        k = self.negatives
        return super().traits()._replace(evaluations=1.5 * (1 + k), noise_ratio=k, blind_loss=log1p(k))

    def extras(self, event: Event, data: Tensor) -> Contrast:
        from ebmkit.components.objectives.nets.contrast import Contrast

        return Contrast(cast("Density", self.noise.build(event, data)), learn_log_z=False)

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        contrast = cast("Contrast", context.extras)
        log_u = contrast.log_ratios(model, batch, self.negatives * len(batch), context)
        among = torch.cat([log_u.data.unsqueeze(1), log_u.noise.view(-1, self.negatives)], dim=1)
        value = (among.logsumexp(1) - log_u.data).mean()
        found = log_u.data >= among.amax(1)
        return Loss(value, {**log_u.metrics(), "found": found.to(batch.dtype).mean()})
