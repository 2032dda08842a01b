"""The verdict on the samples of a run, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.contracts.judgement import Difference, Judgement, Level
from ebmkit.engine.mixing import coordinate

if TYPE_CHECKING:
    from ebmkit.engine.run_view import RunView

#: The beginning of the sentence for each level.
SENTENCES: dict[Level, str] = {
    "match": "samples match the data",
    "slight": "samples differ slightly from the data",
    "mismatch": "samples do not match the data",
}
#: If a smaller shift of a mean, in standard deviations, could not be seen, the sentence says so.
BLIND = 0.3


def verdict_words(judgement: Judgement, view: RunView) -> str:
    """The verdict as one sentence, with the largest difference."""
    words = SENTENCES[judgement.level]
    if judgement.level != "match":
        p = "p < 0.001" if judgement.p_value < 0.001 else f"p = {judgement.p_value:.2g}"
        words += f": {difference_words(judgement.worst, view)} ({p})"
    if judgement.visible > BLIND:
        few = judgement.held_out <= judgement.samples
        points = f"{judgement.held_out:,} held-out points" if few else f"{judgement.samples:,} independent samples"
        seen = f"{points} show a shift of a mean only if it is larger than {judgement.visible:.1f} standard deviations"
        words += f", but {seen}" if judgement.level == "match" else f"; {seen}"
    return words


def verdict_entry(judgement: Judgement, view: RunView) -> dict[str, Any]:
    """The verdict for `run.json`."""
    plain = judgement.plain()
    names = [column_name(view, column) for column in judgement.worst.columns]
    worst = {**plain["worst"], "columns": names, "words": difference_words(judgement.worst, view)}
    return {"words": verdict_words(judgement, view), **plain, "worst": worst}


def difference_words(worst: Difference, view: RunView) -> str:
    """A difference as a clause."""
    names = [column_name(view, column) for column in worst.columns]
    match worst.kind:
        case "mean":
            side = "above" if worst.samples > worst.data else "below"
            what = "share" if view.plan.spec.model.traits().categories else "mean"
            return f"the {what} of {names[0]} is {worst.size:.2g} standard deviations {side} that of the data"
        case "spread":
            if worst.data == 0:
                return f"{names[0]} is the same in all of the data, but not in the samples"
            return f"the spread of {names[0]} is {worst.samples / worst.data:.2g} times that of the data"
        case "correlation":
            return f"the correlation of {names[0]} and {names[1]} is {worst.samples:.2f}, in the data {worst.data:.2f}"
        case "apart":
            return f"{worst.size:.0%} of the samples lie where there are no data"
        case "missed":
            return f"{worst.size:.0%} of the data lie where there are no samples"
        case "recognised":
            return f"a classifier tells samples from data in {worst.samples:.0%} of cases, where chance is 50%"


def column_name(view: RunView, column: int) -> str:
    """The name of a column of the data if there is one, else its index; with the category of a one-hot vector."""
    categories = view.plan.spec.model.traits().categories
    if not categories:
        return coordinate(view.event, column, view.names.shown)
    unit, category = divmod(column, categories)
    return f"{coordinate(view.event, unit, view.names.shown)} = {view.names.category(unit, category)}"
