"""The errors of estimates where the exact moments are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.api import Metric, component, torch
from ebmkit_bayes.estimates import quantities_of

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.api import View

#: Parts of a chain whose means are compared. Each should be much longer than the autocorrelation.
BATCHES = 20


@component("reference_error")
class ReferenceError(Metric):
    """Errors of means and standard deviations of all quantities, where the exact ones are known without sampling.

        mean_error = max_q |mean_q - E q| / sd q,    spread_error = max_q |std_q / sd q - 1|
        mean_z = max_q |mean_q - E q| / mcse_q

    The Monte Carlo standard error mcse is that of batch means: 20 parts of each chain. If chains have explored the
    whole posterior, mean_z is the largest of a few numbers of standard Gaussian size; chains that all leave out the
    same part have a small mcse and a large mean_z.

    Results:
        mean_error: largest error of a mean in posterior standard deviations.
        spread_error: largest relative error of a standard deviation.
        mean_z: largest error of a mean in Monte Carlo standard errors; below 5 unless chains are biased or too short.

    Parameters:
        every: interval in training steps; by default it is measured only at the end.

    Reference: Flegal and Jones, "Batch means and spectral variance estimators in Markov chain Monte Carlo", Annals of
    Statistics 38, 2010, arXiv:0811.1729.

    Example: evaluate: [bayes.reference_error]
    """

    needs: ClassVar[frozenset[str]] = frozenset({"samples", "chains", "reference"})
    least_draws: ClassVar[int] = BATCHES

    def results(self) -> tuple[str, ...]:
        return ("mean_error", "spread_error", "mean_z")

    def measure(self, view: View) -> dict[str, float]:
        view.samples(1)  # draws the chains, unless another metric has
        draws = torch.cat([block.cpu().double() for block in quantities_of(view, 0)], 1)  # (chains, draws, Q)
        exact = view.module.reference()  # type: ignore[operator]
        off = (draws.mean((0, 1)) - exact.mean).abs()
        spread = (draws.flatten(0, 1).std(0) / exact.std - 1).abs()
        return {
            "mean_error": float((off / exact.std).max()),
            "spread_error": float(spread.max()),
            "mean_z": float((off / standard_error(draws)).max()),
        }


def standard_error(draws: Tensor) -> Tensor:
    """Of the means over all draws `(chains, draws, Q)`, by batch means."""
    length = draws.shape[1] // BATCHES
    batches = draws[:, : length * BATCHES].reshape(-1, length, draws.shape[2]).mean(1)
    error: Tensor = batches.std(0) / len(batches) ** 0.5
    return error
