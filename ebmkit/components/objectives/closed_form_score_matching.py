"""Score matching of an exponential family in closed form."""

from __future__ import annotations

from math import ceil, prod
from typing import TYPE_CHECKING, ClassVar, cast

from ebmkit.components.models.exponential_family import ExponentialFamily
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Loss, Objective, Space
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.models.nets.exponential_family import ClosedForm
    from ebmkit.contracts.abilities import Statistics
    from ebmkit.contracts.context import Context


@component("closed_form_score_matching")
class ClosedFormScoreMatching(Objective):
    """Closed-form score matching of an exponential family: the minimiser on all training data as the target.

        J(theta) = E[1/2 |s|^2 + div s] = 1/2 theta' A theta + b' theta,    s = sum_k theta_k dT_k/dx
        A = E[dT dT'],    b = E[lap T],    theta* = -A^-1 b
        L = 1/2 |theta - theta*|^2

    `sgd` with a learning rate of 1 reaches it in one step. theta* is computed in float64 when the run is built;
    `excess` is J(theta) - J(theta*). The literature also has a base measure exp(a(x)); here it is 1.

    Reference: Hyvarinen, "Some extensions of score matching", Computational Statistics and Data Analysis 51, 2007.

    Example: objective: closed_form_score_matching
    """

    local: ClassVar[bool] = True
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "statistics"})

    def refusal(self, question: Question) -> str | None:
        model, data, d = question.model, question.data, prod(question.event)
        count, points = model.parameter_count(question.event), question.train_points
        if data is None or count is None:
            return None
        # Every point gives one equation per coordinate, and products of coordinates need points in all directions.
        products = isinstance(model, ExponentialFamily) and "quadratic" in model.statistics and d > 1
        least = max(ceil(count / d), d + 1 if products else 1)
        name = f"data '{data.component_name}'"
        if points is not None and points < least:
            return f"determines {count} parameters by at least {least} training points, but {name} has {points}"
        variation = data.traits().variation
        if (variation == "constant" and count > d) or (variation == "degenerate" and products):
            return f"determines {count} parameters by data that vary in every direction, but those of {name} do not"
        return None

    def extras(self, event: Event, data: Tensor) -> ClosedForm:
        from ebmkit.components.models.nets.exponential_family import ClosedForm

        return ClosedForm(data)

    def parameter_count(self, event: Event) -> int:
        return 0

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        fit = cast("ClosedForm", context.extras)
        off = cast("Statistics", model).theta - fit.optimum
        excess = (off * (fit.curvature * off).sum(1)).sum().detach() / 2
        return Loss(off.square().sum() / 2, {"excess": excess})
