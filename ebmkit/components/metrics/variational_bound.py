"""The variational bound of the log-likelihood."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Ge

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from ebmkit.contracts.abilities import Bounded
    from ebmkit.contracts.question import Question
    from ebmkit.contracts.view import View


@component("variational_bound")
class VariationalBound(Metric):
    """Variational lower bound of the mean log-likelihood of held-out data, in nats, for networks with hidden layers.

        log p(x) >= E_q(h | x)[log p(x, h) - log q(h | x)]

    In a `dbn` q draws the hidden units upwards, layer by layer; in a `dbm` it is mean field, and the bound not random.
    The estimate is without bias, in float64, with an exact normaliser. For a model that is trained part by part only
    the gain is that over the lowest layer alone, for which the bound is its log-likelihood; the lower layers of one
    that is trained as a whole are no models by themselves.

    Results:
        variational_bound: mean bound of held-out points, in nats; higher is better.
        variational_bound_error: its standard error from the draws of h, for these points.
        variational_bound_gain: the bound of all layers minus that of the lowest alone, if that is a model.

    Parameters:
        draws: number of draws of the hidden units of each point.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Hinton, Osindero and Teh, "A fast learning algorithm for deep belief nets", Neural Computation 18, 2006;
    Salakhutdinov and Hinton, "Deep Boltzmann machines", AISTATS 2009.

    Example: evaluate: [{use: variational_bound, draws: 20}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin"})
    needs: ClassVar[frozenset[str]] = frozenset({"data", "bound"})

    draws: Annotated[int, Ge(2)] = 10

    def results(self) -> tuple[str, ...]:
        return ("variational_bound", "variational_bound_error", "variational_bound_gain")

    def results_in(self, question: Question) -> tuple[str, ...]:
        return self.results() if question.model.traits().by_parts else self.results()[:2]

    def measure(self, view: View) -> dict[str, float]:
        test = view.data("test")
        if test is None:
            raise ValueError("a bound of the likelihood of data needs a spec with data")
        # On the CPU, because some devices lack float64.
        x, module = test.to("cpu", torch.float64), copy.deepcopy(view.module).to("cpu", torch.float64)
        rng = view.generator("variational_bound", torch.device("cpu"))
        with torch.no_grad():
            # Means over the points, one per draw and layer.
            means = torch.stack([cast("Bounded", module).log_bounds(x, rng).mean(0) for _ in range(self.draws)])
        bound, first = means[:, -1], means[:, 0]
        found = {
            "variational_bound": float(bound.mean()),
            "variational_bound_error": float(bound.std() / self.draws**0.5),
        }
        if view.spec.model.traits().by_parts:
            found["variational_bound_gain"] = float((bound - first).mean())
        return found
