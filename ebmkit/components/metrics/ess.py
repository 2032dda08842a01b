"""The effective sample size."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.metrics.long_chains import long_chains
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.diagnostics.coordinates import FEWEST
from ebmkit.diagnostics.ess import ess_bulk, ess_tail

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("ess")
class Ess(Metric):
    """Effective sample size of long chains (bulk and tail), for the coordinate with the smallest one.

        ess = S / (1 + 2 sum_t rho_t),    ess_per_evaluation = ess_bulk / (chains evaluations)

    rho_t is the autocorrelation at lag t, and S the total number of draws. `ess_bulk` is that of normal scores, for
    means and medians; `ess_tail` is the smaller of those of `x <= q` at the 5 % and 95 % quantiles. Below a hundred per
    chain they are unreliable. An evaluation is one energy of one chain, with or without its gradient; a sampler without
    evaluations, such as `exact`, counts as one per draw. A coordinate that never moves is an error.

    Results:
        ess_bulk: effective number of draws for means and medians, of the worst coordinate.
        ess_tail: effective number of draws for 5 % and 95 % quantiles, of the worst coordinate.
        ess_per_evaluation: ess_bulk per evaluation of the energy.

    Parameters:
        every: interval in training steps; by default it is measured only at the end.

    Reference: Vehtari, Gelman, Simpson, Carpenter and Buerkner, "Rank-normalization, folding, and localization: an
    improved R-hat for assessing convergence of MCMC", Bayesian Anal. 16, 2021, arXiv:1903.08008.

    Example: evaluate: [ess]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "chains"})
    least_draws: ClassVar[int] = FEWEST

    def results(self) -> tuple[str, ...]:
        return ("ess_bulk", "ess_tail", "ess_per_evaluation")

    def measure(self, view: View) -> dict[str, float]:
        draws = long_chains(view)
        chains, count = draws.x.shape[:2]
        bulk = float(ess_bulk(draws.x).min())
        evaluations = chains * (draws.evaluations or count)
        return {
            "ess_bulk": bulk,
            "ess_tail": float(ess_tail(draws.x).min()),
            "ess_per_evaluation": bulk / evaluations,
        }
