"""The exact log normaliser."""

from __future__ import annotations

import copy
from math import exp, inf, log
from sys import float_info
from typing import TYPE_CHECKING, ClassVar, cast

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from ebmkit.contracts import abilities
    from ebmkit.contracts.view import View


@component("log_z")
class LogZ(Metric):
    """Log normaliser (log partition function) of a model for which it is exact.

        log_z = log of the integral of exp(-E(x)) dx,    or of the sum over all discrete states

    Results:
        log_z: exact log normaliser.
        z: the normaliser itself.

    Parameters:
        plain: also report Z itself, as `z`; above 1.8e308 (log Z = 709.8) it overflows and the run stops.
        every: interval in training steps; by default it is measured only at the end.

    Reference: Goodfellow, Bengio and Courville, "Deep learning", 2016, chapter 18.

    Example: evaluate: [{use: log_z, plain: true}]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"log_z"})

    plain: bool = False

    def results(self) -> tuple[str, ...]:
        return ("log_z", "z") if self.plain else ("log_z",)

    def measure(self, view: View) -> dict[str, float]:
        # On the CPU, because some devices lack float64.
        module = copy.deepcopy(view.module).to("cpu", torch.float64)
        with torch.no_grad():
            log_z = float(cast("abilities.LogZ", module).log_z())
        if not self.plain:
            return {"log_z": log_z}
        return {"log_z": log_z, "z": exp(log_z) if log_z <= log(float_info.max) else inf}
