"""Score matching of a Gaussian-Bernoulli RBM in closed form."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from ebmkit.components.models.gaussian_rbm import GaussianRBM
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Loss, Objective, Space

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.components.models.nets.gaussian_rbm import GaussianRBMEnergy
    from ebmkit.contracts.context import Context
    from ebmkit.contracts.question import Question


@component("fisher_rbm")
class FisherRBM(Objective):
    """Fisher divergence of a Gaussian-Bernoulli RBM: score matching in closed form, without second derivatives.

        s(v) = (W rho + (b - v) / std) / std,    rho = E[h | v]
        L = E[1/2 |s(v)|^2 + sum_ij rho'_j W_ij^2 / std_i^2 - sum_i 1 / std_i^2],    rho'_j = Var[h_j | v]

    It is the loss of `score_matching` on the free energy, at the cost of two products with W. Tarokh's lecture prints
    the score with + v, the second term with a square, and no last term.

    Reference: Hyvarinen, JMLR 6, 2005; Marlin, Swersky, Chen and de Freitas, "Inductive principles for restricted
    Boltzmann machine learning", AISTATS 2010; Swersky et al., "On autoencoders and score matching for energy based
    models", ICML 2011.

    Example: objective: fisher_rbm
    """

    local: ClassVar[bool] = True
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "hidden"})

    def refusal(self, question: Question) -> str | None:
        if isinstance(question.model, GaussianRBM):
            return None
        return "is the closed form of score matching for model 'gaussian_rbm': use 'score_matching' for others"

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        from ebmkit.maths.two_valued import variance

        machine = cast("GaussianRBMEnergy", model)
        score, means = machine.score(batch.flatten(1))
        precision = machine.std.square().reciprocal()
        spread = variance(means, machine.hidden_values)  # (B, H)
        strength = (precision.unsqueeze(1) * machine.weights.square()).sum(0)  # (H,)
        trace = (spread * strength).sum(1) - precision.sum()
        return Loss((score.square().sum(1) / 2 + trace).mean(), {"trace": trace.detach().mean()})
