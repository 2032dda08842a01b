"""The run folder: what was asked, what was used, what came out."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

from ebmkit.errors.running import Diverged, ExpectationUnmet, StorageFailed
from ebmkit.language.plan import Plan, resolved_yaml
from ebmkit.storage.atomic import make_folder, storing, sweep, write_json, write_text
from ebmkit.storage.run_lock import RunLock

Status: TypeAlias = Literal["running", "finished", "diverged", "failed", "interrupted", "paused"]


@dataclass
class SessionRecord:
    """One process that worked on a run."""

    started: str
    seconds: float = 0.0
    from_step: int = 0
    to_step: int = 0
    command: list[str] = field(default_factory=lambda: list(sys.argv))
    #: What was allowed to differ from the session before.
    drift: list[str] = field(default_factory=list)


#: Raised when run folders change so that earlier ones cannot be continued.
FORMAT = 2

#: What can be relied on in `run.json`.
KEYS = {
    "name": str,
    "status": str,
    "hash": str,
    "step": int,
    "steps": int,
    "started": str,
    "seconds": float | int,
    "results": dict,
    "unmet": list,
    "warnings": list,
    "sessions": list,
}


class Record:
    """A run folder that is being written. As a context manager it makes `run.json` tell how the run ended.

    with Record.create(plan, Path("runs"), lock) as record:
        record.say("step 100")
    """

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self.status: Status = "running"
        #: Training steps that are done and saved, or at least recorded.
        self.step = 0
        self.results: dict[str, float] = {}
        #: The claims of the spec that do not hold.
        self.unmet: list[ExpectationUnmet] = []
        self.warnings: list[str] = []
        self.error = ""
        self.sessions: list[SessionRecord] = []
        self._began = datetime.now(UTC)
        if (folder / "log.txt").is_symlink():  # a stranger's run may want us to write elsewhere
            raise StorageFailed(f"{folder / 'log.txt'}: a link, not a file")
        self._lock = RunLock(folder)
        with storing(folder):
            self._log = (folder / "log.txt").open("a", encoding="utf-8", buffering=1)

    @classmethod
    def create(cls, plan: Plan, runs_dir: Path, lock: str) -> Self:
        """Make a folder of its own for this run; an existing one is never written into."""
        folder = _new_folder(runs_dir / plan.spec.name, f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{plan.hash[:8]}")
        record = cls(folder, plan)
        write_text(folder / "spec.yaml", plan.tree.place.source.text)
        write_text(folder / "resolved.yaml", resolved_yaml(plan))
        write_text(folder / "lock.yaml", lock)
        record._sit_down([])
        return record

    @classmethod
    def reopen(cls, folder: Path, plan: Plan, drift: list[str]) -> Self:
        """Go on with a run. Refused while another process is at it."""
        record = cls(folder, plan)
        try:
            sweep(folder)
            before = read_summary(folder)
            record.sessions = [SessionRecord(**session) for session in before["sessions"]]
            record.warnings = before["warnings"]
            record.step = before["step"]
            record._sit_down(drift)
        except BaseException:
            record._close()
            raise
        return record

    @property
    def seconds(self) -> float:
        """How long the run has taken so far, or took, over all sessions."""
        return sum(session.seconds for session in self.sessions)

    @property
    def picture(self) -> Path:
        """The page of plots that every run leaves."""
        return self.folder / "plots" / "summary.png"

    @property
    def report(self) -> Path:
        """The page that tells everything."""
        return self.folder / "report.html"

    def say(self, line: str) -> None:
        """A line for `log.txt`."""
        with storing(self.folder / "log.txt", len(line)):
            self._log.write(f"{datetime.now(UTC):%H:%M:%S} {line}\n")

    def file(self, name: str) -> Path:
        """The path of a file in the run, with its folder made."""
        path = self.folder / name
        make_folder(path.parent)
        return path

    def save(self) -> None:
        """Write `run.json` as things stand."""
        session = self.sessions[-1]
        session.seconds = round((datetime.now(UTC) - self._began).total_seconds(), 3)
        session.to_step = self.step
        write_json(self.folder / "run.json", self.summary())

    def summary(self) -> dict[str, Any]:
        """What `run.json` holds."""
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
            "results": self.results,
            "unmet": [claim.message for claim in self.unmet],
            "warnings": self.warnings,
            **({"error": self.error} if self.error else {}),
            "sessions": [asdict(session) for session in self.sessions],
        }

    def _sit_down(self, drift: list[str]) -> None:
        started = self._began.isoformat(timespec="seconds")
        self.sessions.append(SessionRecord(started, from_step=self.step, drift=drift))
        self.save()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.status == "running":
            self.status = _status(error)
        try:
            if error is None:
                self.save()
            else:
                self.error = " ".join(str(error).split()) or type(error).__name__
                with suppress(StorageFailed):  # a disk that is full now must not hide what came first
                    self.say(f"{self.status}: {self.error}")
                with suppress(StorageFailed):
                    self.save()
        finally:
            self._close()

    def _close(self) -> None:
        with suppress(OSError):  # a line that could not be written was told when it was said
            self._log.close()
        self._lock.release()


def read_summary(folder: Path) -> dict[str, Any]:
    """What `run.json` says. A folder without one is not a run, or one that had not begun."""
    path = folder / "run.json"
    with storing(path):
        content = path.read_bytes()
    try:
        summary: dict[str, Any] = json.loads(content)
        if (written := summary.get("format", 1)) != FORMAT and isinstance(written, int):
            raise StorageFailed(
                f"{path}: the run was started by another version of ebmkit, with run folders of format {written}, but "
                f"this version reads format {FORMAT}",
                help="use the version that is named in its lock.yaml, or run its spec.yaml again",
            )
        wrong = [key for key, kind in KEYS.items() if not isinstance(summary.get(key), kind)]
        if wrong:
            raise ValueError(f"{', '.join(wrong)}: not what ebmkit writes")
        for session in summary["sessions"]:
            SessionRecord(**session)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise StorageFailed(f"{path}: damaged: {error}") from error
    return summary


def _status(error: BaseException | None) -> Status:
    match error:
        case None:
            return "finished"
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
    raise StorageFailed(f"{parent / name}: a thousand runs began in this second")
