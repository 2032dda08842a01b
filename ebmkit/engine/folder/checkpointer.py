"""When checkpoints are made, and which ones are kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ebmkit.engine.folder import checkpoint
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.engine.training_state import TrainingState

#: With `every: auto`: the minimum number of seconds between checkpoints, and the fraction of time that saving may take.
SECONDS, SHARE = 60.0, 0.02


class Checkpointer:
    """Saves the state of a run into its folder."""

    def __init__(
        self, state: TrainingState, checkpoints: Path, before: Callable[[], None], after: Callable[[Path], None]
    ) -> None:
        self.state = state
        self.checkpoints = checkpoints
        self.section = state.plan.spec.checkpoint
        self._before, self._after = before, after
        self._next = time.monotonic() + SECONDS

    def at(self, step: int) -> None:
        """Called after every step; saves if a checkpoint is due."""
        every = self.section.every
        if time.monotonic() >= self._next if every == "auto" else step % every == 0:
            self.save()

    def save(self) -> None:
        """Make a checkpoint now, and delete old ones."""
        began = time.monotonic()
        self._before()
        with ErrorSite(self.state.plan, ("checkpoint",)):
            folder = checkpoint.save(self.checkpoints, self.state.plan.hash, self.state.save())
        checkpoint.prune(self.checkpoints, self.section.keep, self.state.step)
        took = time.monotonic() - began
        self._next = time.monotonic() + max(SECONDS, took / SHARE)
        self._after(folder)
