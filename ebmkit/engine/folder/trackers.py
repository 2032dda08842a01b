"""All open trackers of a run as one object."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ebmkit.contracts.built import check_type
from ebmkit.contracts.kinds.tracker import Log, TrackedRun
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.errors.base import EbmkitError
from ebmkit.language.plan import Plan, resolved_yaml
from ebmkit.storage.atomic import storing


class Trackers:
    """Writes to all of them, and closes them in any case."""

    def __init__(
        self, plan: Plan, folder: Path, records: Sequence[tuple[int, dict[str, float]]] = (), step: int = 0
    ) -> None:
        self.folder = folder
        self._logs: list[tuple[ErrorSite, Log]] = []
        try:
            for index, tracker in enumerate(plan.spec.trackers):
                site = ErrorSite(plan, ("trackers", index))
                with site, storing(folder):
                    log = tracker.open(tracked_run(plan, folder, records, step))
                    check_type(log, Log, "open")
                self._logs.append((site, log))
        except BaseException:
            self._close()  # those that are open
            raise

    @property
    def take_pictures(self) -> bool:
        """Whether any of them records pictures, which take time to draw."""
        return any(type(log).picture is not Log.picture for _, log in self._logs)

    def write(self, step: int, values: dict[str, float]) -> None:
        """Record what was measured at a step."""
        for site, log in self._logs:
            with site, storing(self.folder, len(repr(values))):
                log.write(step, values)

    def picture(self, step: int, name: str, png: bytes) -> None:
        """Record a picture."""
        for site, log in self._logs:
            with site, storing(self.folder, len(png)):
                log.picture(step, name, png)

    def finish(self, results: Mapping[str, float]) -> None:
        """Record the final results, each with a copy."""
        for site, log in self._logs:
            with site, storing(self.folder):
                log.finish(dict(results))

    def sync(self) -> None:
        """Flush everything written to disk."""
        for site, log in self._logs:
            with site, storing(self.folder):
                log.sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failures = self._close()
        if failures and error is None:  # otherwise they would hide the first error
            raise failures[0]

    def _close(self) -> list[EbmkitError]:
        """Close all of them, and return what failed."""
        failures = []
        for site, log in self._logs:
            try:
                with site, storing(self.folder):
                    log.close()
            except EbmkitError as failure:
                failures.append(failure)
        return failures


def tracked_run(plan: Plan, folder: Path, records: Sequence[tuple[int, dict[str, float]]], step: int) -> TrackedRun:
    """What a tracker may know of a run. It is a copy: a tracker cannot change the run."""
    return TrackedRun(
        folder=folder,
        name=plan.spec.name,
        seed=plan.spec.seed,
        hash=plan.hash,
        spec=copy.deepcopy(plan.resolved),
        text=resolved_yaml(plan),
        steps=plan.spec.steps,
        step=step,
        records=[(at, dict(values)) for at, values in records],
    )
