"""Score matching with a known score of the data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.models.gaussian_mixture import GaussianMixture
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Model, Objective, Space
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


@component("explicit_score_matching")
class ExplicitScoreMatching(Objective):
    """Explicit score matching: squared error of the model's score against that of a known target, at data points.

        L = 1/2 E |s(x) - s_target(x)|^2,    s = -dE/dx

    Half the Fisher divergence from data to model if the target is the distribution of the data. For teaching and tests.

    Parameters:
        target: the model that the data follow; its parameters are not trained.

    Reference: Hyvarinen, "Estimation of non-normalized statistical models by score matching", JMLR 6, 2005, equation 2.

    Example: objective: {use: explicit_score_matching, target: {use: gaussian, mean: [1.0], covariance: 0.5}}
    """

    local: ClassVar[bool] = True
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})

    target: Model = GaussianMixture()

    def __post_init__(self) -> None:
        name = self.target.component_name
        if lacking := sorted(self.needs - self.target.traits().offers):
            raise ValueError(f"model '{name}' has no score, because it does not offer '{', '.join(lacking)}'")
        if self.target.traits().space != "real" or self.target.traits().conditioning is not None:
            raise ValueError(f"model '{name}' has no score as a function of x alone on real states")

    def refusal(self, question: Question) -> str | None:
        event = question.event
        fixed = self.target.event()
        if fixed is not None and fixed != event:
            return f"has a target on states of shape {fixed}, but the model is on states of shape {event}"
        if reason := self.target.refusal(replace(question, model=self.target)):
            return f"has a target that does not fit: model '{self.target.component_name}' {reason}"
        return None

    def extras(self, event: Event, data: Tensor) -> nn.Module:
        return self.target.build(event).requires_grad_(False).eval()

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        from ebmkit.maths.laplacian import gradient

        assert context.extras is not None
        off = (gradient(model, batch)[1] - gradient(context.extras, batch)[1].detach()).flatten(1)
        return Loss(off.square().sum(1).mean() / 2, {})
