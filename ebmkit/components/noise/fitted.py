"""Why noise cannot be fitted to the data of a spec, as far as it is known before they are loaded. Without torch."""

from __future__ import annotations

from ebmkit.contracts.question import Question
from ebmkit.contracts.states import Variation


def fit_refusal(
    question: Question, least: int, instead: str, without: tuple[Variation, ...] = ("constant",)
) -> str | None:
    """Words that follow the name of noise that is fitted to at least this many points; None if there are enough.

    `without` lists the data that it cannot be fitted to, and `instead` says what to do.
    """
    data, points = question.data, question.train_points
    if data is None:
        return None
    name = f"data '{data.component_name}'"
    if points is not None and points < least:
        return f"is fitted to at least {least} training points, but {name} has {points}: {instead}"
    if data.traits().variation in without:
        where = "coordinate" if data.traits().variation == "constant" else "direction"
        return f"is fitted to data that vary in every {where}, but those of {name} do not: {instead}"
    return None
