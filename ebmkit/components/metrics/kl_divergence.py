"""The Kullback-Leibler divergence from data with a known density."""

from __future__ import annotations

import copy
from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from annotated_types import Gt

from ebmkit.components.metrics.log_likelihood import SCOUTS
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.maths.quadrature import Rule, blockwise, rule

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.abilities import LogZ
    from ebmkit.contracts.view import View


@component("kl_divergence")
class KLDivergence(Metric):
    """Kullback-Leibler divergence of the model from the known density of the data, in nats, by quadrature.

        kl_divergence = integral of p_data(x) (log p_data(x) - log p_model(x)) dx
        kl_reverse    = integral of p_model(x) (log p_model(x) - log p_data(x)) dx

    Both densities are integrated in float64, each on its own grid around data and samples, which is widened and refined
    until neither matters. The first is large where the model misses data, the second where it has mass without data.
    `kl_error` is the change if only every second grid point is used. For data with sharp edges, such as
    `checkerboard`, `tolerance` must be about 0.01; there `kl_reverse` is infinite.

    Results:
        kl_divergence: divergence of the model from the density of the data, in nats; 0 is best.
        kl_error: change if only every second grid point is used, an estimate of the error.
        kl_reverse: divergence of the density of the data from the model.

    Parameters:
        reverse: report `kl_reverse` too; refused for data whose density is zero in some regions.
        tolerance: largest accepted error of either normaliser, from the grid and from the mass outside, each.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Kullback and Leibler, "On information and sufficiency", Annals of Mathematical Statistics 22, 1951.

    Example: evaluate: [{use: kl_divergence, reverse: true}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"data", "truth", "energy"})

    reverse: bool = False
    tolerance: Annotated[float, Gt(0)] = 1e-4

    def refusal(self, question: Question) -> str | None:
        event, data = question.event, question.data
        if prod(event) > 2:
            return f"integrates over one or two coordinates, but a state has {prod(event)}"
        if self.reverse and data and data.traits().bounded:
            where = f"where the density of data '{data.component_name}' is zero"
            return f"reports 'kl_reverse', which is infinite {where}; leave out 'reverse'"
        return None

    def results(self) -> tuple[str, ...]:
        return ("kl_divergence", "kl_error", *(("kl_reverse",) if self.reverse else ()))

    def measure(self, view: View) -> dict[str, float]:
        from ebmkit.chains.energy import frozen

        data, known = [view.data("test"), view.data("train")], view.spec.data
        points = [_flat(x) for x in data if x is not None]
        if known is None or not points:
            raise ValueError("a divergence from data needs a spec with data")
        # Samples reveal mass of the model that is far from the data.
        scouts = [*points, _flat(view.samples(SCOUTS))] if view.can_sample else points
        # On the CPU, because some devices lack float64.
        module = copy.deepcopy(view.module).to("cpu", torch.float64)
        with frozen(module) as energy, torch.no_grad():

            def model(x: Tensor) -> Tensor:
                return energy(x.view(-1, *view.event))

            def truth(x: Tensor) -> Tensor:
                return -known.log_prob(x.view(-1, *view.event))

            p = rule(truth, torch.cat(points), self.tolerance)
            q = rule(model, torch.cat(scouts), self.tolerance)
            own = "log_z" in view.spec.model.traits().offers
            log_z = float(cast("LogZ", module).log_z()) if own else q.integral.log_z
            found = {"kl_divergence": _divergence(p, -blockwise(model, p.x) - log_z)}
            if self.reverse:
                found["kl_reverse"] = _divergence(q, -blockwise(truth, q.x), log_z)
        results = {name: fine for name, (fine, _) in found.items()}
        error = p.integral.error + q.integral.error + max(abs(fine - coarse) for fine, coarse in found.values())
        return {"kl_divergence": results.pop("kl_divergence"), "kl_error": error, **results}


def _divergence(of: Rule, log_other: Tensor, log_z: float = 0.0) -> tuple[float, float]:
    """`E[log p - log q]` under the density p of a rule, with all of its points and with every second one per side."""
    off = of.log_p.flatten() - log_z - log_other
    return of.mean(off), of.mean(off, every=2)


def _flat(x: Tensor) -> Tensor:
    return x.to("cpu", torch.float64).flatten(1)
