"""The log-likelihood of data."""

from __future__ import annotations

import copy
from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Gt

from ebmkit.components.metrics.enumerated import is_summable, summable_units, summed_log_z
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.maths.quadrature import Integral, blockwise, log_integral

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.chains.energy import Energy
    from ebmkit.contracts.abilities import LogZ
    from ebmkit.contracts.view import View

#: Samples that help to locate the model's mass.
SCOUTS = 1_000


@component("log_likelihood")
class LogLikelihood(Metric):
    """Mean log-likelihood of held-out data, in nats, with an exact or integrated normaliser.

        log_likelihood = -E_test[E(x)] - log Z,    Z = integral of exp(-E(x)) dx

    log Z is exact for a model that offers it, and for up to 2^25 discrete states, by a sum over them in blocks of
    65,536, so that memory does not grow with their number. Otherwise, on states of one or two coordinates, it is
    integrated in float64 on a grid around data and samples, which is widened and refined until neither matters. A
    density that cannot be integrated, because it is unbounded in extent or too narrow, is an error.
    `log_likelihood_train` is the value of the training data, `log_normaliser` is log Z, and `log_likelihood_error` the
    estimated error of the integral.

    Results:
        log_likelihood: mean log-density of held-out points, in nats; higher is better.
        log_likelihood_train: the same for training points.
        log_likelihood_error: estimated error of the integral.
        log_normaliser: log Z, by which the densities are normalised.

    Parameters:
        tolerance: largest accepted error of log Z, from the grid and from the mass outside, each.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Trefethen and Weideman, "The exponentially convergent trapezoidal rule", SIAM Review 56, 2014.

    Example: evaluate: [log_likelihood]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"data", "energy"})

    tolerance: Annotated[float, Gt(0)] = 1e-4

    def refusal(self, question: Question) -> str | None:
        event, model = question.event, question.model
        if "log_z" in model.traits().offers or (model.traits().space == "real" and prod(event) <= 2):
            return None
        if is_summable(model, event):
            return None
        return (
            f"integrates over one or two real coordinates or sums over at most {summable_units(model)} unless the "
            f"model offers 'log_z', but a state has {prod(event)} {model.traits().space} ones; 'ais' estimates it"
        )

    def results(self) -> tuple[str, ...]:
        return ("log_likelihood", "log_likelihood_train", "log_likelihood_error", "log_normaliser")

    def measure(self, view: View) -> dict[str, float]:
        from ebmkit.chains.energy import frozen

        test, train = view.data("test"), view.data("train")
        if test is None or train is None:
            raise ValueError("a likelihood of data needs a spec with data")
        # On the CPU, because some devices lack float64.
        module = copy.deepcopy(view.module).to("cpu", torch.float64)
        with frozen(module) as energy, torch.no_grad():
            test, train = (_precise(x) for x in (test, train))
            if "log_z" in view.spec.model.traits().offers:
                log_z, error = float(cast("LogZ", module).log_z()), 0.0
            elif is_summable(view.spec.model, view.event):
                log_z, error = summed_log_z(energy, view.spec.model, view.event), 0.0
            else:
                log_z, error = self._integrate(energy, view, [test, train])
            return {
                "log_likelihood": -float(blockwise(energy, test).mean()) - log_z,
                "log_likelihood_train": -float(blockwise(energy, train).mean()) - log_z,
                "log_likelihood_error": error,
                "log_normaliser": log_z,
            }

    def _integrate(self, energy: Energy, view: View, points: list[Tensor]) -> Integral:
        """Samples are among the points, so that mass far from the data is detected."""
        if view.can_sample:
            points = [*points, _precise(view.samples(SCOUTS))]
        where = torch.cat([x.flatten(1) for x in points])
        return log_integral(lambda x: energy(x.view(-1, *view.event)), where, self.tolerance)


def _precise(x: Tensor) -> Tensor:
    return x.to("cpu", torch.float64)
