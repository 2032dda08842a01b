"""Objectives that learn from second derivatives need a model that has some."""

from __future__ import annotations

from ebmkit.contracts.question import Question


def curvature_refusal(question: Question) -> str | None:
    """Why second derivatives cannot train this model, in words that follow an objective's name; None if they can."""
    if question.model.traits().smooth:
        return None
    return "learns from second derivatives, which are zero for a piecewise linear activation: use 'silu'"
