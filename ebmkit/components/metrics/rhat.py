"""The potential scale reduction factor R-hat."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.metrics.long_chains import long_chains
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.diagnostics.coordinates import FEWEST
from ebmkit.diagnostics.rhat import rhat

if TYPE_CHECKING:
    from ebmkit.contracts.view import View


@component("rhat")
class Rhat(Metric):
    """Rank-normalised split R-hat of long chains, the largest over coordinates; 1 if chains agree.

        rhat_max = max_i sqrt(((N - 1) W_i + B_i) / (N W_i))

    W is the variance within half chains of N draws and B/N the variance of their means, both of normal scores; the
    larger value of x and of its distance from the median is taken. Above 1.01 the chains have not mixed. A coordinate
    that never moves is an error, and so is a single chain.

    Results:
        rhat_max: largest R-hat of all coordinates; below 1.01 if the chains have mixed.

    Parameters:
        every: interval in training steps; by default it is measured only at the end.

    Reference: Vehtari, Gelman, Simpson, Carpenter and Buerkner, "Rank-normalization, folding, and localization: an
    improved R-hat for assessing convergence of MCMC", Bayesian Anal. 16, 2021, arXiv:1903.08008.

    Example: evaluate: [rhat]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"samples", "chains"})
    least_draws: ClassVar[int] = FEWEST
    least_chains: ClassVar[int] = 2

    def results(self) -> tuple[str, ...]:
        return ("rhat_max",)

    def measure(self, view: View) -> dict[str, float]:
        x = long_chains(view).x
        if len(x) < 2:
            raise ValueError("R-hat compares chains: set 'count' of 'chains:' to 2 or more")
        return {"rhat_max": float(rhat(x).max())}
