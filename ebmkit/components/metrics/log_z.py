"""The exact log normaliser."""

from __future__ import annotations

import copy
from math import exp, inf, log, prod
from sys import float_info
from typing import TYPE_CHECKING, ClassVar, cast

from ebmkit.components.metrics.enumerated import is_summable, summable_units, summed_log_z
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from ebmkit.contracts import abilities
    from ebmkit.contracts.view import View


@component("log_z")
class LogZ(Metric):
    """Log normaliser (log partition function) of a model for which it is exact, or of up to 2^25 discrete states.

        log_z = log of the integral of exp(-E(x)) dx,    or of the sum over all discrete states

    A model of up to 2^25 states, those of 25 units with two values, that does not offer it is summed over all states,
    in blocks of 65,536: memory does not grow with their number.

    Results:
        log_z: exact log normaliser.
        z: the normaliser itself.

    Parameters:
        plain: also report Z itself, as `z`; above 1.8e308 (log Z = 709.8) it overflows and the run stops.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Goodfellow, Bengio and Courville, "Deep learning", 2016, chapter 18.

    Example: evaluate: [{use: log_z, plain: true}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy"})

    plain: bool = False

    def refusal(self, question: Question) -> str | None:
        event, model = question.event, question.model
        if "log_z" in model.traits().offers or is_summable(model, event):
            return None
        return (
            f"needs a model that offers 'log_z' or has at most {summable_units(model)}, but a state has "
            f"{prod(event)} {model.traits().space} ones; 'ais' estimates it"
        )

    def results(self) -> tuple[str, ...]:
        return ("log_z", "z") if self.plain else ("log_z",)

    def measure(self, view: View) -> dict[str, float]:
        from ebmkit.chains.energy import frozen

        # On the CPU, because some devices lack float64.
        module = copy.deepcopy(view.module).to("cpu", torch.float64)
        with frozen(module) as energy, torch.no_grad():
            if "log_z" in view.spec.model.traits().offers:
                log_z = float(cast("abilities.LogZ", module).log_z())
            else:
                log_z = summed_log_z(energy, view.spec.model, view.event)
        if not self.plain:
            return {"log_z": log_z}
        return {"log_z": log_z, "z": exp(log_z) if log_z <= log(float_info.max) else inf}
