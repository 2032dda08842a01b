"""A figure of the loss of a run and of earlier ones in the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit_sqlite.database import FILE, reading, relative

if TYPE_CHECKING:
    from ebmkit.api import View

#: Maximum number of earlier runs shown: the last ones.
MOST = 20

EARLIER = """
SELECT run, folder FROM runs
WHERE name = (SELECT name FROM runs WHERE folder = :folder) AND folder < :folder
ORDER BY folder DESC LIMIT :most
"""
LOSS = "SELECT step, value FROM numbers WHERE run = ? AND name = 'loss' ORDER BY step"


def draw_losses(axes: Any, view: View) -> str:
    """The losses; those of earlier runs of the same name are grey."""
    assert view.folder is not None  # of every run that the file has
    with reading(view.folder.parents[1] / FILE) as connection:
        of = {"folder": relative(view.folder), "most": MOST}
        earlier = connection.execute(EARLIER, of).fetchall()
        losses = [connection.execute(LOSS, (run,)).fetchall() for run, _ in earlier]
    for loss in losses:
        axes.plot(*zip(*loss, strict=True), color="0.75", linewidth=0.8) if loss else None
    steps, values = zip(*view.series["loss"], strict=True)
    axes.plot(steps, values, color="black", linewidth=1.2)
    axes.set(xlabel="step", ylabel="loss")
    ends = [loss[-1][1] for loss in losses if loss]
    if not ends:
        return f"Last loss {values[-1]:.4g}. The file has no earlier run of this name."
    rank = sum(end < values[-1] for end in ends) + 1
    runs = "one earlier run" if len(ends) == 1 else f"{len(ends)} earlier runs"
    return f"Last loss {values[-1]:.4g}, number {rank} from below among this and {runs} of this name (grey)."
