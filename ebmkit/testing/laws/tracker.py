"""The laws of trackers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from ebmkit.contracts.kinds import Tracker
from ebmkit.testing.case import Case
from ebmkit.testing.law import Law, require

RECORDS = [(1, {"loss": 0.5}), (2, {"loss": 0.25, "gap": -1e-300})]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def writes_into_the_run_folder(tracker: Tracker, case: Case) -> None:
    """What is written and made durable is in the run folder before the tracker is closed."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        log = tracker.open(folder, [])
        empty = _size(folder)
        for step, values in RECORDS:
            log.write(step, values)
        log.sync()
        written = _size(folder)
        log.close()
        require(written > empty, f"the folder held {empty} bytes before and {written} after two records")


def goes_on_after_a_break(tracker: Tracker, case: Case) -> None:
    """A resumed run opens it again with the records that remain valid, and continues recording."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for past in ([], RECORDS[:1], RECORDS):  # new, resumed at step 1, then at step 2
            log = tracker.open(folder, past)
            log.write(len(past) + 1, {"loss": 0.125})
            log.sync()
            log.close()
        require(_size(folder) > 0, "the folder is empty")


LAWS: tuple[Law, ...] = (writes_into_the_run_folder, goes_on_after_a_break)
