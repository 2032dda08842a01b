"""Score matching."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.objectives.curvature import CURVATURE_RATE, curvature_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Space
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


@component("score_matching")
class ScoreMatching(Objective):
    """Score matching (Hyvarinen): match the score of the data through the exact trace of the Hessian.

        L = E[1/2 |s(x)|^2 + tr ds/dx],    s = -dE/dx
          = E[1/2 |dE/dx|^2 - tr d2E/dx2]

    Up to a constant this is `explicit_score_matching`. The cost of the exact trace grows with the dimension (for `mlp`
    up to the width of its first layer), unlike that of `sliced_score_matching`. Beigy's lecture prints the second line
    with a plus and a squared second derivative. An energy without curvature, such as a `relu` network, cannot be
    learned by it and is refused.

    Reference: Hyvarinen, "Estimation of non-normalized statistical models by score matching", JMLR 6, 2005.

    Example: objective: score_matching
    """

    consistent: ClassVar[bool] = True

    local: ClassVar[bool] = True
    rate_factor: ClassVar[float] = CURVATURE_RATE
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})

    def refusal(self, question: Question) -> str | None:
        return curvature_refusal(question)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        from ebmkit.maths.laplacian import laplacian

        gradient, trace = laplacian(model, batch)
        length = gradient.flatten(1).square().sum(1)
        return Loss((length / 2 - trace).mean(), {"trace": -trace.detach().mean()})
