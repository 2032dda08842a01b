"""The laws of trackers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ebmkit.contracts.kinds import Log, TrackedRun, Tracker
from ebmkit.testing.case import Case
from ebmkit.testing.law import Inapplicable, Law, require
from ebmkit.testing.tracked import small_picture, tracked_run

RECORDS = [(1, {"loss": 0.5}), (2, {"loss": 0.25, "gap": -1e-300})]
RESULTS = {"sliced_wasserstein": 0.125, "log_z": -3.0}


@contextmanager
def _run_folder() -> Iterator[Path]:
    """A folder as of a run, in an empty folder of runs."""
    with TemporaryDirectory() as name:
        folder = Path(name) / "runs/tracked/20260101T000000Z-00000000"
        folder.mkdir(parents=True)
        yield folder


def _size(folder: Path) -> int:
    """Bytes of all runs: several may share a file next to their folders."""
    return sum(path.stat().st_size for path in folder.parents[1].rglob("*") if path.is_file())


def _opened(tracker: Tracker, run: TrackedRun) -> Log:
    log = tracker.open(run)
    require(isinstance(log, Log), f"'open' returned an object of type {type(log).__name__}, not a Log")
    return log


def writes_next_to_the_run(tracker: Tracker, case: Case) -> None:
    """What is written and made durable is in the run folder, or next to it, before the tracker is closed."""
    if not tracker.local:
        raise Inapplicable("it does not record into files ('local' is False)")
    with _run_folder() as folder:
        log = _opened(tracker, tracked_run(folder))
        log.sync()
        empty = _size(folder)
        for step, values in RECORDS:
            log.write(step, values)
        log.sync()
        written = _size(folder)
        log.close()
        require(written > empty, f"the runs held {empty} bytes before and {written} after two records")


def goes_on_after_a_break(tracker: Tracker, case: Case) -> None:
    """A resumed run opens it again with the records that remain valid, and continues recording."""
    with _run_folder() as folder:
        for past in ([], RECORDS[:1], RECORDS):  # new, resumed at step 1, then at step 2
            log = _opened(tracker, tracked_run(folder, past))
            log.write(len(past) + 1, {"loss": 0.125})
            log.sync()
            log.close()
        require(not tracker.local or _size(folder) > 0, "nothing was written")


def takes_pictures_and_results(tracker: Tracker, case: Case) -> None:
    """A run passes pictures and final results, again if it is resumed or measured again, and may do so without any
    measurement or results."""
    with _run_folder() as folder:
        for past, step in (([], 0), (RECORDS, 5), (RECORDS, 10)):  # step 5: a checkpoint after the last record
            log = _opened(tracker, tracked_run(folder, past, step))
            log.picture(step, "samples", small_picture())
            log.picture(step, "samples", small_picture(shade=255))
            log.write(step + 1, {"loss": 0.125})
            log.picture(10, "summary", small_picture())
            log.finish(RESULTS if past else {})
            log.sync()
            log.close()


def leaves_what_it_is_given(tracker: Tracker, case: Case) -> None:
    """Values, records and the spec belong to the run: a tracker does not change them."""
    with _run_folder() as folder:
        run = tracked_run(folder, copy.deepcopy(RECORDS))
        before, values, results = copy.deepcopy(run), {"loss": 0.125}, dict(RESULTS)
        log = _opened(tracker, run)
        log.write(3, values)
        log.finish(results)
        log.close()
        require(run == before, "it changed the description of the run")
        require(values == {"loss": 0.125} and results == RESULTS, "it changed the values that it was given")


LAWS: tuple[Law, ...] = (
    writes_next_to_the_run,
    goes_on_after_a_break,
    takes_pictures_and_results,
    leaves_what_it_is_given,
)
