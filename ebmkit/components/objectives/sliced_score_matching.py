"""Sliced score matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from annotated_types import Ge

from ebmkit.components.objectives.curvature import CURVATURE_RATE, curvature_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Space
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


@component("sliced_score_matching")
class SlicedScoreMatching(Objective):
    """Sliced score matching: score matching along random directions, at a cost independent of the dimension.

        L = E[1/2 (v's(x))^2 + v' (ds/dx) v],    s = -dE/dx,    E[v v'] = I
          = E[1/2 (v' dE/dx)^2 - v' (d2E/dx2) v]

    With `variance_reduced` the first term is replaced by its mean over v, 1/2 |s|^2. Beigy's lecture prints the second
    line with a plus, and squares inside the sum of the first term.

    Parameters:
        projection: the distribution of v: normal, signs (`rademacher`), or uniform on the sphere of radius sqrt d.
        variance_reduced: 1/2 |s|^2 instead of 1/2 (v's)^2.
        projections: number of directions v for each data point.

    Reference: Song, Garg, Shi and Ermon, "Sliced score matching", arXiv:1905.07088.

    Example: objective: {use: sliced_score_matching, projection: sphere, variance_reduced: false, projections: 2}
    """

    consistent: ClassVar[bool] = True

    local: ClassVar[bool] = True
    rate_factor: ClassVar[float] = CURVATURE_RATE
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})

    projection: Literal["gaussian", "rademacher", "sphere"] = "rademacher"
    variance_reduced: bool = True
    projections: Annotated[int, Ge(1)] = 1

    def refusal(self, question: Question) -> str | None:
        return curvature_refusal(question)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        from ebmkit.maths import probes

        v = probes.draw_probes(self.projection, batch, self.projections, context.rng)
        gradient, trace = probes.curvature(model, batch, v)
        if self.variance_reduced:
            length = gradient.flatten(1).square().sum(1)
        else:
            length = (v * gradient).flatten(2).sum(2).square().mean(0)
        return Loss((length / 2 - trace).mean(), {"trace": -trace.detach().mean()})
