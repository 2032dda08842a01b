"""A trial of one spec: validated, and run for its few steps if it is accepted."""

from __future__ import annotations

import io
import json
import shutil
import signal
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ebmkit.contracts.unmeasurable import Unmeasurable
from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.running import Diverged, OutOfMemory
from ebmkit.language.load import load_spec

#: CPU seconds that a run may take: most take less than one, but chains of images by large networks take minutes, and
#: these are not waited for. And those of a run that is only tried to be a smaller one.
PATIENCE, LITTLE = 120, 10


@dataclass(frozen=True)
class Outcome:
    """What became of a spec: `refused`, `ran`, `diverged`, `slow`, or `failed`, which must not happen."""

    word: str
    code: str = ""
    said: str = ""


def attempt(spec: dict[str, Any], folder: Path, *, report: bool, seconds: float = PATIENCE) -> Outcome:
    """Validate a spec and run it in `folder`, which is removed afterwards."""
    try:
        plan = load_spec(json.loads(json.dumps(spec)))
    except Mistakes as refused:
        return _refused(refused)
    except BaseException as error:
        return _failed("validate", error)
    from ebmkit.engine import session
    from ebmkit.report.drawing import draw_run

    try:
        with warnings.catch_warnings(), _limited(seconds):
            warnings.simplefilter("ignore")
            record = session.run(plan, runs_dir=folder, draw=draw_run if report else None)
        return _ended([failure.error for failure in record.failed])
    except Diverged as error:
        return _ended([error])
    except BaseException as error:
        return _failed("run", error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ended(errors: Sequence[EbmkitError]) -> Outcome:
    """A run that ended, with what failed in its evaluation.

    What diverged must name a component and a step. A metric may have no value for the numbers of a run, such as a
    conditional probability without a sample that meets the condition; it says so at its place.
    """
    for error in errors:
        when = isinstance(error.__cause__, Unmeasurable) or "step" in error.message or "chain" in error.message
        if not (isinstance(error, Diverged) and error.place is not None and when):
            return _failed("evaluation", error)
    return Outcome("diverged", errors[0].code, errors[0].message) if errors else Outcome("ran")


def _refused(refused: Mistakes) -> Outcome:
    mistakes = refused.mistakes
    lost = [mistake for mistake in mistakes if mistake.place is None or mistake.exit_status != 2]
    said = "\n".join(f"{mistake.code} {mistake.message}" for mistake in mistakes)
    return Outcome("failed" if lost else "refused", mistakes[0].code, said)


def _failed(stage: str, error: BaseException) -> Outcome:
    if isinstance(error, KeyboardInterrupt):
        raise error
    code = error.code if isinstance(error, EbmkitError) else type(error).__name__
    if isinstance(error, TooSlow) or isinstance(error.__cause__, TooSlow):
        return Outcome("slow", code)
    if isinstance(error, OutOfMemory):
        stage = "memory"
    text = io.StringIO()
    traceback.print_exception(error, file=text)
    return Outcome("failed", f"{stage} {code}", text.getvalue()[-3000:])


class TooSlow(Exception):
    """The trial took longer than it may."""


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
