"""The share of draws at which Hamiltonian trajectories diverged."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.api import Metric, Unmeasurable, component

if TYPE_CHECKING:
    from ebmkit.api import View


@component("diverged")
class Diverged(Metric):
    """Divergences of long chains: the share of draws to which a diverging trajectory led.

        diverged = #{draws with |H - H_0| > 1000 T on the way} / #{draws}

    A divergence marks a region that the step size is too large for, and which the chains therefore leave out: estimates
    may be biased. Reparametrise the model, or raise the target acceptance.

    Results:
        diverged: share of diverging draws; 0 if the step size suits the whole posterior.

    Parameters:
        every: interval in training steps; by default it is measured only at the end.

    Reference: Betancourt, "A conceptual introduction to Hamiltonian Monte Carlo", arXiv:1701.02434, section 6.2.

    Example: evaluate: [bayes.diverged]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples", "chains"})
    traces: ClassVar[frozenset[str]] = frozenset({"divergence"})

    def results(self) -> tuple[str, ...]:
        return ("diverged",)

    def measure(self, view: View) -> dict[str, float]:
        view.samples(1)  # draws the chains, unless another metric has
        if view.draws is None or "divergence" not in view.draws.seen:
            raise Unmeasurable("the chains do not report divergences")
        return {"diverged": float((view.draws.seen["divergence"] > 0).double().mean())}
