"""Score matching with a random estimate of the trace."""

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


@component("hutchinson_score_matching")
class HutchinsonScoreMatching(Objective):
    """Score matching with Hutchinson's trace estimator: random probes, at a cost independent of the dimension.

        L = E[1/2 |s(x)|^2 + v' (ds/dx) v],    s = -dE/dx,    E[v v'] = I

    Its mean over v is `score_matching`. Rademacher probes have the smallest variance: the diagonal is exact.

    Parameters:
        probe: the distribution of v: signs (`rademacher`) or standard normal (`gaussian`).
        projections: number of vectors v for each data point.

    Reference: Hutchinson, Communications in Statistics 18, 1989; Xu, thesis, Tsinghua 2022, equation 2.8.

    Example: objective: {use: hutchinson_score_matching, probe: rademacher}
    """

    consistent: ClassVar[bool] = True

    local: ClassVar[bool] = True
    rate_factor: ClassVar[float] = CURVATURE_RATE
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})

    probe: Literal["rademacher", "gaussian"] = "rademacher"
    projections: Annotated[int, Ge(1)] = 1

    def refusal(self, question: Question) -> str | None:
        return curvature_refusal(question)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        from ebmkit.maths import probes

        v = probes.draw_probes(self.probe, batch, self.projections, context.rng)
        gradient, trace = probes.curvature(model, batch, v)
        length = gradient.flatten(1).square().sum(1)
        return Loss((length / 2 - trace).mean(), {"trace": -trace.detach().mean()})
