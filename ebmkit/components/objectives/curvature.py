"""The check that a model has second derivatives, for objectives that use them."""

from __future__ import annotations

from ebmkit.contracts.question import Question


def curvature_refusal(question: Question) -> str | None:
    """Why second derivatives cannot train this model, in words that follow the objective's name; None if they can."""
    if question.model.traits().smooth:
        return None
    return "uses second derivatives, which are zero for a piecewise linear activation: use 'silu'"
