"""Pseudo-likelihood of discrete states."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.components.objectives.conditional_odds import log_conditionals
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Space

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


@component("pseudo_likelihood")
class PseudoLikelihood(Objective):
    """Pseudo-likelihood (Besag): the likelihood of each unit given all others, which needs neither Z nor samples.

        L = -E_data[sum_i log p(x_i | all other units)]
          = E_data[sum_i log(1 + exp(-o_i))],    o_i = E(x with unit i flipped) - E(x), for two values
          = E_data[sum_i log sum_k exp(E(x) - E(x with x_i = k))],    for categories

    In a family that contains the distribution of the data, its minimum is that distribution. Hidden units are summed
    over. A step computes the odds of all units: for an RBM this takes as many numbers as rows times weights.

    Reference: Besag, "Statistical analysis of non-lattice data", The Statistician 24, 1975; Hyvarinen, "Consistency of
    pseudolikelihood estimation of fully visible Boltzmann machines", Neural Computation 18, 2006.

    Example: objective: pseudo_likelihood
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "conditionals"})

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        log_p = log_conditionals(model, batch)
        value = -log_p.sum(1).mean()
        return Loss(value, {"pseudo_likelihood": -value.detach()})
