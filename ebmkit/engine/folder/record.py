"""The run folder: spec, lock, log, status and results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from ebmkit.engine.failure import Failure, Measured
from ebmkit.engine.folder.parameters import write_parameters
from ebmkit.engine.folder.run_format import FORMAT
from ebmkit.engine.folder.run_summary import SessionRecord, read_summary
from ebmkit.engine.telling.chain_words import chain_words
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.describe import text_of, type_name
from ebmkit.errors.printable import printable
from ebmkit.errors.running import Diverged, ExpectationUnmet, StorageFailed
from ebmkit.language.plan import Plan, resolved_yaml
from ebmkit.storage.atomic import make_folder, open_append, storing, sweep, write_bytes, write_json, write_text
from ebmkit.storage.run_lock import RunLock

#: The number of results that `repr` shows.
FEW = 4

Status: TypeAlias = Literal["running", "finished", "diverged", "failed", "interrupted", "paused"]


class Record:
    """A run folder that is being written. As a context manager it records in `run.json` how the run ended.

    with Record.create(plan, Path("runs"), lock) as record:
        record.say("step 100")
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.status: Status = "running"
        #: Training steps done and saved, or at least recorded.
        self.step = 0
        self.results: dict[str, float] = {}
        #: What failed in the final evaluation; everything else was saved.
        self.failed: Sequence[Failure] = ()
        #: The claims of the spec that do not hold.
        self.unmet: list[ExpectationUnmet] = []
        #: Whether the samples match held-out data, as `verdict_entry` gives it; empty without a verdict.
        self.verdict: dict[str, Any] = {}
        self.warnings: list[str] = []
        self.error = ""
        self.sessions: list[SessionRecord] = []
        #: The folder of the run whose chains this one continues.
        self.extends = ""
        #: What the last session before this one measured, which stands until it is measured again.
        self._before: dict[str, Any] | None = None
        self._began = datetime.now(UTC)
        self._clock = time.monotonic()  # the other clock may be set while the run lasts
        self._lock = RunLock(folder)
        try:
            self._log = open_append(folder / "log.txt")
            if self._lock.notice:
                self.say(self._lock.notice)
        except BaseException:
            self._lock.release()
            raise

    @classmethod
    def create(
        cls, plan: Plan, runs_dir: Path, lock: str, extends: Path | None = None, drift: Sequence[str] = ()
    ) -> Self:
        """Create a new folder for this run; an existing one is never written to.

        `extends` is the folder of the run whose chains it continues, and `drift` what was allowed to differ from it.
        """
        folder = _new_folder(runs_dir / plan.spec.name, f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{plan.hash[:8]}")
        record = cls(folder, plan)
        write_text(folder / "spec.yaml", plan.tree.place.source.text)
        write_text(folder / "resolved.yaml", resolved_yaml(plan))
        write_parameters(folder, plan.resolved)
        write_text(folder / "lock.yaml", lock)
        for name, file in plan.enclosed.files.items():
            write_bytes(folder / name, file.read_bytes())
        record.extends = str(extends.resolve()) if extends else ""
        record._begin_session([*drift])
        return record

    @classmethod
    def reopen(cls, folder: Path, plan: Plan, drift: list[str]) -> Self:
        """Continue a run. Refused while another process is running it."""
        record = cls(folder, plan)
        try:
            sweep(folder)
            before = read_summary(folder)
            record.sessions = [SessionRecord(**session) for session in before["sessions"]]
            record.warnings = before["warnings"]
            record.extends = str(before.get("extends", ""))
            record.step = before["step"]
            record._before = {key: before[key] for key in ("results", "failed", "unmet", "verdict") if key in before}
            record._begin_session(drift)
        except BaseException:
            record._close()
            raise
        return record

    def __repr__(self) -> str:
        results = "".join(f", {name} {value:.4g}" for name, value in list(self.results.items())[:FEW])
        more = f", and {len(self.results) - FEW} more results" if len(self.results) > FEW else ""
        return f"Record({str(self.folder)!r}, {self.status}, step {self.step}{results}{more})"

    @property
    def seconds(self) -> float:
        """The duration of the run so far, over all sessions."""
        return sum(session.seconds for session in self.sessions)

    @property
    def picture(self) -> Path:
        """The page of plots that every run draws."""
        return self.folder / "plots" / "summary.png"

    @property
    def report(self) -> Path:
        """The report."""
        return self.folder / "report.html"

    def discard_pages(self) -> None:
        """Delete the report and its picture, which an earlier session wrote and which would contradict this one."""
        for path in (self.report, self.picture):
            with storing(path):
                path.unlink(missing_ok=True)

    @property
    def mistakes(self) -> list[EbmkitError]:
        """The errors of a run that ended: what failed in its evaluation, and the claims that do not hold."""
        return [*(failure.error for failure in self.failed), *self.unmet]

    def say(self, line: str) -> None:
        """Write a line to `log.txt`."""
        with storing(self.folder / "log.txt", len(line)):
            self._log.write(f"{datetime.now(UTC):%H:%M:%S} {printable(line)}\n")

    def file(self, name: str) -> Path:
        """The path of a file in the run; its folder is created."""
        path = self.folder / name
        make_folder(path.parent)
        return path

    def conclude(self, measured: Measured, unmet: list[ExpectationUnmet]) -> None:
        """The outcome of the final evaluation, and the claims that do not hold."""
        self.results, self.failed = measured
        self.unmet, self._before = unmet, None

    def save(self) -> None:
        """Write `run.json` with the current state."""
        session = self.sessions[-1]
        session.seconds = round(time.monotonic() - self._clock, 3)
        session.to_step = self.step
        write_json(self.folder / "run.json", self.summary())

    def summary(self) -> dict[str, Any]:
        """The content of `run.json`."""
        measured = {
            "results": self.results,
            "failed": [failure.plain() for failure in self.failed],
            "unmet": [claim.message for claim in self.unmet],
            **({"verdict": self.verdict} if self.verdict else {}),
        }
        return {
            "format": FORMAT,
            "name": self.plan.spec.name,
            "status": self.status,
            "hash": self.plan.hash,
            "seed": self.plan.spec.seed,
            "step": self.step,
            "steps": self.plan.spec.steps,
            "started": self.sessions[0].started,
            "seconds": round(self.seconds, 3),
            "sampling": chain_words(self.plan.spec),
            **(self._before or measured),
            "warnings": self.warnings,
            **({"error": self.error} if self.error else {}),
            **({"extends": self.extends} if self.extends else {}),
            "sessions": [asdict(session) for session in self.sessions],
        }

    def _begin_session(self, drift: list[str]) -> None:
        started = self._began.isoformat(timespec="seconds")
        self.sessions.append(SessionRecord(started, from_step=self.step, drift=drift))
        self.save()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                if self.status == "running":
                    self.status = "finished"
                self.save()
            else:
                self.fail(error)
                with suppress(StorageFailed):  # a full disk must not hide the first error
                    self.say(f"{self.status}: {self.error}")
                with suppress(StorageFailed):
                    self.save()
        finally:
            self._close()

    def fail(self, error: BaseException) -> None:
        """The run stops because of this error."""
        if self.status == "running":
            self.status = _status(error)
        self.error = " ".join(text_of(error).split()) or type_name(error)

    def _close(self) -> None:
        with suppress(OSError):  # a line that could not be written was reported by `say`
            self._log.close()
        self._lock.release()


def _status(error: BaseException) -> Status:
    match error:
        case Diverged():
            return "diverged"
        case KeyboardInterrupt():
            return "interrupted"
        case _:
            return "failed"


def _new_folder(parent: Path, name: str) -> Path:
    make_folder(parent)
    for suffix in ["", *(f"-{n}" for n in range(2, 1000))]:
        folder = parent / (name + suffix)
        with storing(folder):
            try:
                folder.mkdir()
            except FileExistsError:
                continue
        return folder
    raise StorageFailed(f"{parent / name}: a thousand runs started in this second")
