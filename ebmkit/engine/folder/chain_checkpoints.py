"""Long chains in the folder of a run: their draws, as they are made, and checkpoints from which they continue."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ebmkit.chains.draws import RATES, LongChains, SavedChains
from ebmkit.chains.leaves import Unsaveable
from ebmkit.engine.folder import checkpoint
from ebmkit.engine.folder.checkpoint import Saved
from ebmkit.engine.folder.checkpointer import SECONDS, SHARE
from ebmkit.engine.rng import Streams
from ebmkit.engine.telling.error_site import ErrorSite, label_at
from ebmkit.engine.training_state import fitting
from ebmkit.errors.running import StorageFailed
from ebmkit.language.plan import Plan
from ebmkit.storage.atomic import storing
from ebmkit.storage.columns import Columns

#: The folder of a run that has the files of draws and the checkpoints of chains, and the file in it with what the
#: warm-up found, which is written last.
CHAINS, TUNING = "chains", "tuning.safetensors"


class Source(NamedTuple):
    """The folder of a run whose chains are continued, and the hash of its plan; None accepts any."""

    folder: Path
    experiment: str | None


class ChainCheckpoints:
    """Saves the chains of one run.

    A checkpoint has the state of the chains between two steps, and how far their files had grown: what was written
    after it is removed when the chains continue from there.
    """

    def __init__(
        self,
        source: Source,
        folder: Path,
        plan: Plan,
        streams: Streams,
        say: Callable[[str], None],
        warn: Callable[[str], None],
        on_step: Callable[[], None],
    ) -> None:
        self.plan, self.streams, self.source = plan, streams, source
        self.folder = folder
        self._say, self._warn, self._on_step = say, warn, on_step
        assert plan.spec.chains is not None
        self.sink = Columns(folder / CHAINS, plan.spec.chains.draws(plan.spec.samples))
        self._chains: LongChains | None = None
        self._training_step = 0
        self._can_be_saved, self._finished = True, False
        self._next = time.monotonic() + SECONDS

    def begin(self, chains: LongChains, training_step: int) -> None:
        """Continue the chains where they were saved, if they were; else start with empty files."""
        self._chains, self._training_step = chains, training_step
        tuning = self.folder / CHAINS / TUNING  # says that the files are complete, which they are no longer
        with storing(tuning):
            tuning.unlink(missing_ok=True)
        self._saved_chains()  # says so now if it is impossible
        for folder in reversed(checkpoint.found(self.source.folder / CHAINS)):
            try:
                self._restore(chains, checkpoint.read(folder, self.source.experiment))
            except StorageFailed as error:
                self._say(f"warning: {error.message}; the chains go back to an earlier checkpoint or restart")
                continue
            if self.source.folder != self.folder:
                self.save()
            return
        if self.source.folder != self.folder:
            self._say(f"{self.source.folder} has no checkpoint of its chains, so they start from the beginning")
        self.sink.clear()

    def at_step(self) -> None:
        """Called after every step; saves if a checkpoint is due, and raises if the run is to stop."""
        assert self._chains is not None
        every = self.plan.spec.checkpoint.every
        by_time = every == "auto" or bool(self.plan.spec.stages)  # then it counts steps of training
        if time.monotonic() >= self._next if by_time else self._chains.steps % every == 0:  # type: ignore[operator]
            self.save()
        self._on_step()

    def save(self) -> bool:
        """Make a checkpoint now, if possible, and delete old ones."""
        if self._chains is None or not self._can_be_saved:
            return False
        if self._finished:
            return True
        began, content = time.monotonic(), self._saved_chains()
        if content is None:
            return False
        with ErrorSite(self.plan, ("checkpoint",)):
            tensors, values = content
            random = {**tensors["random"], **{"torch": self.streams.ongoing("torch").get_state()}}
            marks = {name: mark for name, mark in self.sink.marks().items() if name not in self._incomplete()}
            values = {**values, "columns": marks, "training_step": self._training_step}
            saved = Saved(self._chains.steps, {**tensors, "random": random}, values)
            checkpoint.save(self.folder / CHAINS, self.plan.hash, saved)
        self._prune(self.plan.spec.checkpoint.keep)
        self._next = time.monotonic() + max(SECONDS, (time.monotonic() - began) / SHARE)
        return True

    def finish(self) -> None:
        """All steps are done: keep the last checkpoint, from which the chains can be extended."""
        if self.save():
            self._prune(1)
        for name in self._incomplete():  # only now: no checkpoint that is left lists them
            self.sink.drop(name)
        self._finished = True

    def leave(self) -> str:
        """The run stops before its end: make a checkpoint, and say of what; empty if the chains have not begun."""
        if self._chains is None:
            return ""
        if not self.save():
            return "the chains cannot be saved and will restart"
        chains, length = self._chains, self._chains.length
        if chains.steps < length.discarded:
            phase = "warm-up" if chains.steps < length.warmup else "burn-in"
            return f"saved in the {phase}, after {chains.steps:,} of {length.discarded:,} steps before the first draw"
        return f"saved after {chains.kept * chains.count:,} of {length.draws * chains.count:,} draws"

    def _incomplete(self) -> list[str]:
        """Columns of what a sampler reported at some steps only: they lack rows, and are of no use."""
        assert self._chains is not None
        kept = self._chains.kept  # the energy of the last draw is only known after the next step
        return [name for name in ("energy", *RATES) if self.sink.rows(name) < kept - (name == "energy")]

    def _saved_chains(self) -> SavedChains | None:
        """The state of the chains; None, with a warning, if it cannot be saved."""
        assert self._chains is not None
        try:
            return self._chains.save()
        except Unsaveable as reason:
            self._can_be_saved = False
            who = label_at(self.plan, self.plan.spec.chain_sampler_path)
            self._warn(f"{who}: chains cannot be saved and restart if the run is interrupted, because {reason}")
            return None

    def _restore(self, chains: LongChains, saved: Saved) -> None:
        with fitting(saved):
            if saved.values["training_step"] != self._training_step:
                raise ValueError(f"its chains sample the model of training step {saved.values['training_step']}")
            elsewhere = self.source.folder != self.folder
            self.sink.restore(saved.values["columns"], self.source.folder / CHAINS if elsewhere else None)
            if self.sink.rows("x") != saved.values["kept"]:
                raise ValueError(f"{self.sink.rows('x')} rows of draws, not {saved.values['kept']}")
            stream = self.streams.ongoing("torch")
            before = stream.get_state()
            stream.set_state(saved.tensors["random"]["torch"])
            try:
                chains.restore(saved.step, SavedChains(saved.tensors, saved.values))
            except BaseException:  # they are unchanged, and the stream must be too
                stream.set_state(before)
                raise

    def _prune(self, keep: int) -> None:
        assert self._chains is not None
        checkpoint.prune(self.folder / CHAINS, keep, self._chains.steps)
