"""Trackers with one mistake each."""

import tempfile
from pathlib import Path

from ebmkit.api import Log, Tracker, component


class Lines(Log):
    """Right: a line for each value, and what is recorded after a break replaces what was; others override one place."""

    def __init__(self, path, records, mode="w"):
        self.path, self.file = path, path.open(mode)
        for step, values in records:
            Lines.write(self, step, values)

    def write(self, step, values):
        self.file.write("".join(f"{step},{name},{value!r}\n" for name, value in values.items()))

    def sync(self):
        self.file.flush()

    def close(self):
        self.file.close()


class EverySecond(Lines):
    def write(self, step, values):
        if step % 2:
            super().write(step, values)


class Late(Lines):
    """Writes when it is closed, which a run that is killed never does."""

    def sync(self):
        pass


class Rounded(Lines):
    def write(self, step, values):
        super().write(step, {name: round(value, 2) for name, value in values.items()})


class OnlyTheLast(Lines):
    """Rewrites history: the file holds the last record."""

    def write(self, step, values):
        self.file.seek(0)
        self.file.truncate()
        super().write(step, values)


class AddsTheStep(Lines):
    """Changes the values that it is given."""

    def write(self, step, values):
        values["step"] = float(step)
        super().write(step, values)


class Finished(Lines):
    """Takes one set of results, and a run that is measured again passes a second one."""

    results = None

    def finish(self, results):
        self.results["loss"]  # a run need not have it


def planted_tracker(name, opened):
    @component(name)
    class Planted(Tracker):
        def open(self, run):
            return opened(run.folder, run.records)

    return Planted()


ELSEWHERE = Path(tempfile.gettempdir(), "ebmkit-elsewhere.log")

TABLE = [
    planted_tracker("loses_rows", lambda folder, records: EverySecond(folder / "log", records)),
    planted_tracker("forgets_the_past", lambda folder, records: Lines(folder / "log", [])),
    planted_tracker("twice_after_a_break", lambda folder, records: Lines(folder / "log", records, "a")),
    planted_tracker("too_late", lambda folder, records: Late(folder / "log", records)),
    planted_tracker("elsewhere", lambda folder, records: Lines(ELSEWHERE, records)),
    planted_tracker("rounds", lambda folder, records: Rounded(folder / "log", records)),
    planted_tracker("keeps_the_last_alone", lambda folder, records: OnlyTheLast(folder / "log", records)),
    planted_tracker("adds_the_step", lambda folder, records: AddsTheStep(folder / "log", records)),
    planted_tracker("wants_a_result", lambda folder, records: Finished(folder / "log", records)),
]
RIGHT = [planted_tracker("lines", lambda folder, records: Lines(folder / "log", records))]
