"""The pseudo-likelihood of data."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Metric, Space
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.view import View

#: Numbers of log odds that are computed at a time.
BLOCK = 1 << 22


@component("pseudo_likelihood")
class PseudoLikelihood(Metric):
    """Pseudo-likelihood of held-out data per unit, in nats: how well a unit is predicted from all others.

        pseudo_log_likelihood = E_test[1/d sum_i log p(x_i | all other units)]
        independent_log_likelihood = E_test[1/d sum_i log f_i(x_i)],    f_i(k) = (1 + count of k) / (K + N) in training

    Neither Z nor samples are needed. The second value is what independent units reach, such as single letters of a text
    by their frequencies: a model that knows nothing of interactions is not better.

    Results:
        pseudo_log_likelihood: mean log probability of a unit given all others, of held-out points; higher is better.
        pseudo_log_likelihood_train: the same for training points.
        independent_log_likelihood: mean log probability of a unit by its frequencies in the training data.

    Parameters:
        every: interval in training steps; by default it is measured only at the end.

    Reference: Besag, "Statistical analysis of non-lattice data", The Statistician 24, 1975.

    Example: evaluate: [{use: pseudo_likelihood, every: 500}]
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"data", "energy", "conditionals"})

    def results(self) -> tuple[str, ...]:
        return ("pseudo_log_likelihood", "pseudo_log_likelihood_train", "independent_log_likelihood")

    def measure(self, view: View) -> dict[str, float]:
        test, train = view.data("test"), view.data("train")
        if test is None or train is None:
            raise ValueError("a pseudo-likelihood of data needs a spec with data")
        values = view.spec.model.traits().unit_values
        return {
            "pseudo_log_likelihood": _mean(view, test, len(values)),
            "pseudo_log_likelihood_train": _mean(view, train, len(values)),
            "independent_log_likelihood": _independent(train, test, values),
        }


def _mean(view: View, x: Tensor, categories: int) -> float:
    """The mean log probability of a unit given all others."""
    from ebmkit.chains.energy import frozen
    from ebmkit.components.objectives.conditional_odds import log_conditionals

    rows = max(1, BLOCK // (prod(view.event) * categories))
    with frozen(view.module), torch.no_grad():
        parts = [log_conditionals(view.module, some.to(view.device)) for some in torch.split(x, rows)]
    total = sum(float(part.cpu().double().sum()) for part in parts)
    return total / (len(x) * prod(view.event))


def _independent(train: Tensor, test: Tensor, values: tuple[float, ...]) -> float:
    fitted, found = ((x.flatten(1)[..., None] == x.new_tensor(values)).double().sum(0) for x in (train, test))
    log_p = ((fitted + 1) / (len(train) + len(values))).log()
    return float((found.to(log_p) * log_p).sum() / found.sum())
