"""The laws of trackers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

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


def _content(folder: Path) -> dict[str, bytes]:
    """All files of all runs: several may share one next to their folders."""
    runs = folder.parents[1]
    return {str(path.relative_to(runs)): path.read_bytes() for path in runs.rglob("*") if path.is_file()}


#: Records of a session: the time from the start, or from being resumed, to a break.
Session: TypeAlias = list[tuple[int, dict[str, float]]]


def _recorded(tracker: Tracker, sessions: list[Session], valid: Session | None = None) -> dict[str, bytes]:
    """The files after some sessions. Each is resumed with all records of those before, or with `valid` ones only."""
    past: Session = []
    with _run_folder() as folder:
        for session in sessions:
            log = _opened(tracker, tracked_run(folder, past if valid is None or not past else valid))
            for step, values in session:
                log.write(step, dict(values))
            log.sync()
            log.close()
            past = [*past, *session]
        return _content(folder)


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False


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
        before = _content(folder)
        for step, values in RECORDS:
            log.write(step, values)
        log.sync()
        after = _content(folder)
        log.close()
        require(after != before, f"{len(after)} files of runs, and none of them changed by two records")


def records_every_step(tracker: Tracker, case: Case) -> None:
    """Each record changes the files, and so does the third digit of a value and the name of another."""
    if not tracker.local:
        raise Inapplicable("it does not record into files ('local' is False)")
    with _run_folder() as folder:
        log = _opened(tracker, tracked_run(folder))
        for step in (1, 2, 3, 4):
            log.sync()
            before = _content(folder)
            log.write(step, {"loss": 0.5 + step / 64})
            log.sync()
            require(_content(folder) != before, f"the record of step {step} changed no file")
        log.close()
    one, other, third = (
        _recorded(tracker, [[(1, values)]]) for values in ({"a": 0.4217}, {"a": 0.4227}, {"b": 0.4217})
    )
    require(one != other, "values of 0.4217 and 0.4227 leave the same files")
    require(one != third, "values of the same number under two names leave the same files")


def keeps_what_was_recorded(tracker: Tracker, case: Case) -> None:
    """Later records, and a run that is resumed, leave earlier ones in the files. If these are text, a step that is
    repeated stands in them once."""
    if not tracker.local:
        raise Inapplicable("it does not record into files ('local' is False)")
    first, second = [(1, {"loss": value}) for value in (0.71484375, 0.28515625)]
    last: Session = [(2, {"loss": 0.5625})]
    one, other = (_recorded(tracker, [[record, *last]]) for record in (first, second))
    require(one != other, "after a later record the files are the same for two different records of step 1")
    one, other = (_recorded(tracker, [[record], last]) for record in (first, second))
    require(one != other, "in a resumed run the files are the same for two different records of step 1")
    broken = _recorded(tracker, [[first, (2, {"loss": 0.65625})], last], [first])
    whole, twin = (_recorded(tracker, [[first, *last]]) for _ in range(2))
    if whole != twin or not all(_is_text(content) for content in broken.values()):
        return  # times of records, or a format of its own: what is in it cannot be counted
    left = sum(content.count(b"0.65625") for content in broken.values())
    require(left == 0, "a step that is repeated after a break leaves its first record in the files")
    found, expected = (sum(c.count(b"0.71484375") for c in contents.values()) for contents in (broken, whole))
    require(found == expected, f"after a break a record is in the files {found} times, otherwise {expected} times")


def goes_on_after_a_break(tracker: Tracker, case: Case) -> None:
    """A resumed run opens it again with the records that remain valid, and continues recording."""
    with _run_folder() as folder:
        for past in ([], RECORDS[:1], RECORDS):  # new, resumed at step 1, then at step 2
            log = _opened(tracker, tracked_run(folder, past))
            log.write(len(past) + 1, {"loss": 0.125})
            log.sync()
            log.close()
        require(not tracker.local or any(_content(folder).values()), "nothing was written")


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
    records_every_step,
    keeps_what_was_recorded,
    goes_on_after_a_break,
    takes_pictures_and_results,
    leaves_what_it_is_given,
)
