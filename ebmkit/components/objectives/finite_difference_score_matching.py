"""Score matching without derivatives with respect to x."""

from __future__ import annotations

from math import prod, sqrt
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt

from ebmkit.components.objectives.curvature import CURVATURE_RATE
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Space
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


@component("finite_difference_score_matching")
class FiniteDifferenceScoreMatching(Objective):
    """Finite-difference score matching: sliced score matching with energy differences, in three forward passes.

        L = d / eps^2 E[1/2 (1/2 (E(x + v) - E(x - v)))^2 - (E(x + v) + E(x - v) - 2 E(x))],    |v| = eps

    v is uniform on the sphere. The error relative to `sliced_score_matching` (projections on the sphere, not variance
    reduced) decreases as eps^2. The rounding error grows as 1/eps^2, and with the size of the energies.

    Parameters:
        eps: length of a step: small compared with the details of the data, and at least 0.01 in float32.

    Reference: Pang, Xu, Li, Song, Ermon and Zhu, "Efficient learning of generative models via finite-difference score
    matching", arXiv:2007.03317.

    Example: objective: {use: finite_difference_score_matching, eps: 0.1}
    """

    local: ClassVar[bool] = True
    rate_factor: ClassVar[float] = CURVATURE_RATE
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})

    eps: Annotated[float, Gt(0)] = 0.05

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        from ebmkit.maths import probes

        d = prod(batch.shape[1:])
        v = self.eps / sqrt(d) * probes.draw_probes("sphere", batch, 1, context.rng)[0]
        plus, centre, minus = model(torch.cat([batch + v, batch, batch - v])).chunk(3)
        slope, curvature = (plus - minus) / 2, plus + minus - 2 * centre
        scale = d / self.eps**2
        return Loss(scale * (slope.square() / 2 - curvature).mean(), {"trace": -scale * curvature.detach().mean()})
