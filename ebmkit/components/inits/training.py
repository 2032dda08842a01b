"""Chains that continue those of training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init
from ebmkit.contracts.training_chains import training_init
from ebmkit.contracts.walk import walk

if TYPE_CHECKING:
    from ebmkit.components.inits.nets.training_starts import TrainingStarts
    from ebmkit.contracts.question import Question


@component("training")
class TrainingStart(Init):
    """Chains of training: samples continue the chains that the objective keeps, in a replay buffer for example.

        x0 = a draw of the objective's own `init`, of which a copy is used

    Only for `init:` at the top of a spec. The samples then show what the model was trained against, and can be good
    although the model is not: a chain from noise may end elsewhere. Hence it is not the default.

    Reference: Nijkamp et al., "On the anatomy of MCMC-based maximum likelihood learning of energy-based models",
    arXiv:1903.12370, on persistent chains and what long chains from noise reveal.

    Example: init: training
    """

    def refusal(self, question: Question) -> str | None:
        if any(component is self for _, component in walk(question.objective, ("objective",))):
            return "continues the chains of training, so it cannot start them"
        found = training_init(question.objective)
        if found is None or found[1].lifetime() <= 1:
            return "continues the chains of training, but the objective keeps none"
        most = found[1].capacity()
        if question.chains is not None and most is not None and question.chains > most:
            return f"continues the chains of training, which are {most}, but 'chains' needs {question.chains}"
        return None

    def build(self, event: Event) -> TrainingStarts:
        from ebmkit.components.inits.nets.training_starts import TrainingStarts

        return TrainingStarts()
