"""The run folder: what was asked, what was used, what came out."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TextIO, TypeAlias

from ebmkit.errors.running import Diverged, ExpectationUnmet, StorageFailed
from ebmkit.plan import Plan
from ebmkit.storage import make_folder, storing, write_json, write_text

Status: TypeAlias = Literal["running", "finished", "diverged", "failed", "interrupted"]


class Record:
    """A run folder that is being written. As a context manager it makes `run.json` tell how the run ended.

    with Record.create(plan, Path("runs"), lock) as record:
        record.say("step 100")
    """

    def __init__(self, folder: Path, plan: Plan, log: TextIO) -> None:
        self.folder = folder
        self.plan = plan
        self.status: Status = "running"
        self.results: dict[str, float] = {}
        #: The claims of the spec that do not hold.
        self.unmet: list[ExpectationUnmet] = []
        self.started = datetime.now(UTC)
        self.ended: datetime | None = None
        self.error = ""
        self._log = log

    @classmethod
    def create(cls, plan: Plan, runs_dir: Path, lock: str) -> Self:
        """Make a folder of its own for this run; an existing one is never written into."""
        from ebmkit.plan import resolved_yaml

        folder = _new_folder(runs_dir / plan.spec.name, f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{plan.hash[:8]}")
        with storing(folder):
            log = (folder / "log.txt").open("w", encoding="utf-8", buffering=1)
        record = cls(folder, plan, log)
        write_text(folder / "spec.yaml", plan.tree.place.source.text)
        write_text(folder / "resolved.yaml", resolved_yaml(plan))
        write_text(folder / "lock.yaml", lock)
        record.save()
        return record

    @property
    def seconds(self) -> float:
        """How long the run has taken so far, or took."""
        return ((self.ended or datetime.now(UTC)) - self.started).total_seconds()

    @property
    def picture(self) -> Path:
        """The page of plots that every run leaves."""
        return self.folder / "plots" / "summary.png"

    def say(self, line: str) -> None:
        """A line for `log.txt`."""
        with storing(self.folder / "log.txt"):
            self._log.write(f"{datetime.now(UTC):%H:%M:%S} {line}\n")

    def file(self, name: str) -> Path:
        """The path of a file in the run, with its folder made."""
        path = self.folder / name
        make_folder(path.parent)
        return path

    def save(self) -> None:
        """Write `run.json` as things stand."""
        write_json(self.folder / "run.json", self.summary())

    def summary(self) -> dict[str, Any]:
        """What `run.json` holds."""
        return {
            "name": self.plan.spec.name,
            "status": self.status,
            "hash": self.plan.hash,
            "seed": self.plan.spec.seed,
            "started": self.started.isoformat(timespec="seconds"),
            "ended": self.ended.isoformat(timespec="seconds") if self.ended else None,
            "seconds": round(self.seconds, 3),
            "command": sys.argv,
            "results": self.results,
            **({"error": self.error} if self.error else {}),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended = datetime.now(UTC)
        self.status = _status(error)
        if error is None:
            self.save()
        else:
            self.error = " ".join(str(error).split()) or type(error).__name__
            with suppress(StorageFailed):  # a disk that is full now must not hide what came first
                self.say(f"{self.status}: {self.error}")
                self.save()
        self._log.close()


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
