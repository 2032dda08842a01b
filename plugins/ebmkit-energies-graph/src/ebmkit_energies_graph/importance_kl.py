"""The divergence from data with a known density, in any dimension."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, ClassVar

from ebmkit.api import Metric, Space, component, torch

if TYPE_CHECKING:
    from ebmkit.api import View


@component("importance_kl")
class ImportanceKL(Metric):
    """Kullback-Leibler divergence of the model from the known density of the data, by importance sampling from data.

        kl = E_data[log p(x) + E(x)] + log Z,    Z = E_data[exp(-E(x)) / p(x)]

    Both means are over held-out points, in any number of dimensions and without samples of the model: the estimate is
    log mean exp w - mean w with w = -E - log p, which is never negative, and zero if w is constant. It is too small for
    a model with mass where there are no held-out points; a low `kl_ess` reveals that the weights exp(w) differ much,
    but not all such mass.

    Results:
        importance_kl: divergence of the model from the density of the data, in nats; 0 is best.
        kl_ess: effective share of the points, (sum exp w)^2 / (N sum exp 2 w), 1 if the model is the truth.

    Parameters:
        every: interval in training steps; by default it is measured only at the end.

    Reference: Owen, "Monte Carlo theory, methods and examples", 2013, chapter 9, for the weights and their diagnostic.

    Example: evaluate: [graph.importance_kl]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"data", "truth", "energy"})

    def results(self) -> tuple[str, ...]:
        return ("importance_kl", "kl_ess")

    def measure(self, view: View) -> dict[str, float]:
        points, known = view.data("test"), view.spec.data
        assert points is not None  # a spec without data of a known density is refused
        assert known is not None
        energy = torch.cat([view.energy(some.to(view.device)).cpu().double() for some in torch.split(points, 5_000)])
        w = -energy - known.log_prob(points.cpu())
        log_mean = w.logsumexp(0) - log(len(w))
        log_ess = 2 * w.logsumexp(0) - (2 * w).logsumexp(0) - log(len(w))
        return {"importance_kl": float(log_mean - w.mean()), "kl_ess": float(log_ess.exp())}
