"""Whether the data have enough points for a metric, as far as it is known before they are loaded. Without torch."""

from __future__ import annotations

from ebmkit.contracts.question import Question


def too_few(question: Question, *, train: int = 1, test: int = 1) -> str | None:
    """Why the points do not suffice, in words that follow the name of a metric; None if they do."""
    for found, least, noun in ((question.train_points, train, "training"), (question.test_points, test, "held-out")):
        if question.data and found is not None and found < least:
            return f"needs at least {least} {noun} points, but data '{question.data.component_name}' has {found}"
    return None
