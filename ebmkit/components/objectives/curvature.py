"""What objectives that use second derivatives share: the check that a model has them, and a slower rate."""

from __future__ import annotations

from ebmkit.contracts.question import Question

#: The factor of the learning rate: curvature at single training points can be raised without limit, so that a loss that
#: rewards it overfits first. A regression, such as that of denoising, does not.
CURVATURE_RATE = 1 / 3


def curvature_refusal(question: Question) -> str | None:
    """Why second derivatives cannot train this model, in words that follow the objective's name; None if they can."""
    if question.model.traits().smooth:
        return None
    return "uses second derivatives, which are zero for a piecewise linear activation: use 'silu'"
