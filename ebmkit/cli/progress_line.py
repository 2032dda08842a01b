"""The line that shows the progress of a run on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.progress import Progress, TaskID
from rich.text import Text

from ebmkit.engine.telling.progress import Position

#: Columns kept free at the end of the line: the `^C` that a terminal prints must not break the line, which would then
#: be drawn again in the next one.
FREE = 5
#: Minimum and maximum width of the bar.
SHORTEST, LONGEST = 8, 40
GAP = "  "


class ProgressLine(Progress):
    """Step, remaining time, a bar, and as many statistics as fit into the width of the terminal.

    It reads the position when it is redrawn, five times a second, so that no loop waits for it.
    """

    def __init__(self, console: Console, what: str, steps: int, position: Position) -> None:
        self._position = position
        self._task: TaskID | None = None
        super().__init__(console=console, refresh_per_second=5)
        # A resumed run starts at its current step, so that rate and remaining time are those of this session.
        self._task = self.add_task(what, total=steps, completed=position()[0])

    def get_renderables(self) -> Iterable[RenderableType]:
        if self._task is None:
            return
        step, words = self._position()
        self.update(self._task, completed=step)
        yield self._line(self.console.width - FREE, step, words)

    def _line(self, width: int, step: int, words: str) -> Text:
        """What is most important comes first, and is never cut as long as the terminal has 40 columns."""
        task = self.tasks[0]
        count = f"{step:>{len(str(task.total))}}/{task.total}"
        remaining = [f"{_clock(task.time_remaining)} left"] if task.time_remaining is not None else []
        start = GAP.join([task.description, count, *remaining])
        if len(start) > width:
            start = GAP.join([count, *remaining])
        room = width - len(start) - len(GAP) - SHORTEST
        end = ""
        for piece in (f"{task.speed:.0f} steps/s" if task.speed else "", *words.split(GAP)):
            if len(end) + len(GAP) + len(piece) > room:
                break
            end += GAP + piece if piece else ""
        length = min(width - len(start) - len(end) - len(GAP), LONGEST)
        bar = self._bar(length) if length >= SHORTEST else ()
        return Text.assemble(start, *bar, end, no_wrap=True, overflow="crop")

    def _bar(self, length: int) -> tuple[str | tuple[str, str], ...]:
        full, empty = ("#", "-") if self.console.options.ascii_only else ("━", "━")
        done = int(length * self.tasks[0].percentage / 100)
        return GAP, (full * done, "bar.complete"), (empty * (length - done), "bar.back")


def _clock(seconds: float) -> str:
    """`1:05` or `2:00:05`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
