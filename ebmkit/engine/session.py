"""One session of a run: from the beginning, or from the last checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias

from safetensors.torch import save as save_tensors
from torch import Tensor

from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.evaluation import Evaluation
from ebmkit.engine.expectations import unmet
from ebmkit.engine.folder import checkpoint
from ebmkit.engine.folder.chain_checkpoints import CHAINS, TUNING, ChainCheckpoints, Source
from ebmkit.engine.folder.checkpoint import Saved
from ebmkit.engine.folder.checkpointer import Checkpointer
from ebmkit.engine.folder.lockfile import drift, drifted, lock, to_yaml
from ebmkit.engine.folder.record import Record
from ebmkit.engine.folder.run_format import check_folder
from ebmkit.engine.folder.trackers import Trackers
from ebmkit.engine.limit import Limit, Paused
from ebmkit.engine.loop import train
from ebmkit.engine.mixing import findings, verdict
from ebmkit.engine.parts import Parts
from ebmkit.engine.pictures import DrawSamples, Pictures
from ebmkit.engine.process import settings_kept
from ebmkit.engine.run_view import RunView
from ebmkit.engine.signals import Interrupted, Signals
from ebmkit.engine.telling.health import Health
from ebmkit.engine.telling.hooks import Hooks
from ebmkit.engine.telling.progress import Progress, Silent
from ebmkit.engine.telling.reasons import reasons
from ebmkit.engine.telling.run_log import RunLog
from ebmkit.engine.telling.verdict_words import verdict_entry
from ebmkit.engine.training_state import TrainingState
from ebmkit.engine.working import unsound
from ebmkit.errors.base import EbmkitError, Mistakes, first_of
from ebmkit.errors.describe import describe_error
from ebmkit.errors.running import ComponentFailed, StorageFailed
from ebmkit.language.packages import require_packages
from ebmkit.language.plan import Plan
from ebmkit.storage.atomic import write_bytes
from ebmkit.storage.headings import PLAIN, Headings

#: Draws the pictures of a finished run. The report is a later stage, so the caller of a session passes it.
Draw: TypeAlias = Callable[[RunView, Record], None]


def run(
    plan: Plan,
    *,
    runs_dir: str | Path = "runs",
    draw: Draw | None = None,
    picture: DrawSamples | None = None,
    progress: Progress | None = None,
    limit: Limit | None = None,
    like: Path | None = None,
) -> Record:
    """Run an experiment in a new folder. `record.failed` has what failed in the final evaluation, `record.unmet` the
    claims of the spec that do not hold.

    `like` is a run that is to be reproduced bit for bit: refused if versions, data or device differ from it.
    """
    require_packages(plan)
    progress = progress or Silent()
    with settings_kept(), Signals() as signals:
        parts = build(plan)
        locked = lock(plan, parts)
        if like and (differing := drift(like, locked)):
            raise drifted(like, differing)
        # From here on a signal waits for the end of a step, except where stopping at once is safe.
        with signals.between_steps(), Record.create(plan, Path(runs_dir), to_yaml(locked)) as record:
            source = Source(record.folder, plan.hash)
            Session(record, parts, None, source, progress, signals, limit or Limit()).carry_out(draw, picture)
        progress.finished(record)
        return record


def resume(
    plan: Plan,
    folder: Path,
    *,
    allow_drift: bool = False,
    draw: Draw | None = None,
    picture: DrawSamples | None = None,
    progress: Progress | None = None,
    limit: Limit | None = None,
) -> Record:
    """Continue the run in `folder`, whose plan this is, from its last intact checkpoint."""
    check_folder(folder)
    require_packages(plan)
    progress = progress or Silent()
    with settings_kept(), Signals() as signals:
        parts = build(plan)
        differing = drift(folder, lock(plan, parts))
        if differing and not allow_drift:
            raise drifted(folder, differing)
        # If drift is allowed, the checkpoints may belong to the original experiment.
        experiment = None if differing else plan.hash
        with signals.between_steps(), Record.reopen(folder, plan, differing) as record:
            if draw is None:
                record.discard_pages()
            for difference in differing:
                record.warnings.append(f"differs from the start of the run (allowed by --allow-drift): {difference}")
                _tell(record, progress, f"warning: {record.warnings[-1]}")
            saved = checkpoint.latest(folder / "checkpoints", experiment, partial(_tell, record, progress))
            if saved is None:
                _tell(record, progress, "no checkpoint was saved; the run starts from step 0")
            if record.step > (step := saved.step if saved else 0):
                lost = f"the checkpoint of step {record.step} is unusable"
                _tell(record, progress, f"warning: {lost}; going back to step {step}")
            source = Source(folder, experiment)
            Session(record, parts, saved, source, progress, signals, limit or Limit()).carry_out(draw, picture)
        progress.finished(record)
        return record


def _tell(record: Record, progress: Progress, line: str) -> None:
    record.say(line)
    progress.say(line)


class Session:
    """The work of one process on a run."""

    def __init__(
        self,
        record: Record,
        parts: Parts,
        saved: Saved | None,
        source: Source,
        progress: Progress,
        signals: Signals,
        limit: Limit,
    ) -> None:
        plan = record.plan
        self.plan, self.parts, self.record = plan, parts, record
        self.progress, self.signals, self.limit = progress, signals, limit
        self.run_log = RunLog(record, progress)
        self.health = Health(self.run_log.warn, plan)
        lag = 0 if parts.device.type == "cpu" else 1
        self.view = assemble(plan, parts, record.folder, write=self._write, lag=lag)
        self.streams, self.history = self.view.streams, self.view.history
        self.state = TrainingState(plan, parts, self.streams, self.history)
        if saved:
            self.state.restore(saved)
            self.health.restore(self.state.stage, self.state.stage_began, self.history.records)
        record.step = self.state.step
        self.evaluation = Evaluation(self.view, self.run_log.warn, lambda x: self.pictures.samples(x))
        self.hooks = Hooks(plan, self.run_log.warn, self.run_log.say)
        #: Of the long chains that draw the final samples, if the spec has any.
        self.chains = self._chain_checkpoints(source) if plan.spec.chains else None
        #: Opened when the run starts; they receive what is recorded.
        self.trackers: Trackers
        self.pictures: Pictures
        self.checkpointer = Checkpointer(
            self.state, record.folder / "checkpoints", lambda: self.trackers.sync(), self._saved
        )

    def _chain_checkpoints(self, source: Source) -> ChainCheckpoints:
        def on_step() -> None:
            self.signals.raise_if_received()
            self.limit.raise_if_late()

        log = self.run_log
        return ChainCheckpoints(source, self.record.folder, self.plan, self.streams, log.say, log.warn, on_step)

    def carry_out(self, draw: Draw | None, picture: DrawSamples | None = None) -> None:
        """Train, save, sample, measure, draw."""
        self.run_log.plan(self.parts)
        if self.state.step:
            self.run_log.say(f"continuing after step {self.state.step}")
        with (
            self.streams.lent_to_torch(),
            self.hooks.watched(),
            Trackers(self.plan, self.record.folder, self.history.records, self.state.step) as self.trackers,
        ):
            self.pictures = Pictures(self.view, self.trackers, picture, self.run_log.warn)
            if self.state.evaluated == self.state.step > 0:
                self.pictures.again(self.state.step)
            try:
                self._work(draw)
            except Interrupted as signal:
                self._leave(str(signal))
                raise
            except Paused as why:
                self._leave(str(why))
                self.record.status = "paused"

    def _work(self, draw: Draw | None) -> None:
        try:
            self._train()
            self._sample_and_measure()
        except (StorageFailed, Paused):
            raise
        except Exception as error:
            if draw:
                self._draw_what_remains(draw, error)
            raise
        with self.signals.anywhere():
            if draw:
                self.run_log.wait("writing the report")
                draw(self.view, self.record)
            self.pictures.final(self.record.picture)
            self.trackers.finish(self.record.results)

    def _draw_what_remains(self, draw: Draw, error: Exception) -> None:
        """The report of a run that failed. No further error and no signal takes the place of the first error."""
        known = first_of(error) if isinstance(error, EbmkitError | Mistakes) else ComponentFailed(describe_error(error))
        with suppress(Exception, Interrupted), self.signals.anywhere():
            self.record.fail(error)
            if any(unsound(self.parts.evaluated)):
                self.view.refuse_weights(known)
            else:
                self.view.refuse_samples(known)
            self.history.flush()
            draw(self.view, self.record)

    def _train(self) -> None:
        with self.view.drawing_from("run_started"):  # the hook is called again when the run is resumed
            self.hooks.run_started(view=self.view, folder=self.record.folder)
        if self.plan.spec.stages:
            self.run_log.train(self.history, self.state.step)
            follow = (self.evaluation, self.checkpointer, self.hooks, self.signals, self.limit)
            train(self.view, self.state, *follow, begun=self.health.begin_stage)
            self.health.conclude()
        # Before the samples are drawn: if they diverge, the weights are saved.
        self.checkpointer.save()

    def _sample_and_measure(self) -> None:
        view, record, spec = self.view, self.record, self.plan.spec
        self.run_log.wait("sampling and evaluating")
        if self.chains:
            self._run_chains(self.chains)
        with self.signals.anywhere():
            if view.can_sample and not self.chains:
                most = self.evaluation.samples_of(spec.evaluate, spec.samples)
                self.progress.follow("sampling", view.chain_length(most), view.chain_position)
            measured = self.evaluation.measure(spec.evaluate, at_least=spec.samples)
            if view.can_sample and view.no_samples is None:
                labels = {} if view.sample_labels is None else {"y": view.sample_labels}
                if view.draws:
                    _write_tensors(record.file(f"{CHAINS}/{TUNING}"), {**view.draws.to_tensors(), **labels})
                else:
                    kept = {"x": view.samples(spec.samples)} | {name: y[: spec.samples] for name, y in labels.items()}
                    _write_tensors(record.file("samples/samples.safetensors"), kept, view.names.headings)
                _write_tensors(record.file("samples/traces.safetensors"), view.traces)
                self.run_log.judge(verdict(view), findings(view))
            if view.judgement:
                record.verdict = verdict_entry(view.judgement, view)
                self.run_log.verdict(record.verdict["words"], bad=view.judgement.level == "mismatch")
                for reason in reasons(view):
                    self.run_log.warn(reason)
        record.conclude(measured, unmet(self.plan, measured))
        self.run_log.failures(record.failed)
        if record.results:
            self.history.record(self.state.step, record.results)
        if view.no_samples and not spec.stages:  # nothing is left of a sampling experiment whose chains failed
            raise view.no_samples
        self.hooks.run_finished(view=view, results=dict(record.results))

    def _run_chains(self, chains: ChainCheckpoints) -> None:
        """Run the long chains, which stop between two steps; if they fail, what needs no samples is still measured."""
        self.progress.follow("sampling", self.view.chain_length(self.plan.spec.samples), self.view.chain_position)
        try:
            self.view.run_chains(chains)
        except StorageFailed:
            raise
        except EbmkitError as error:
            self.view.refuse_samples(error)
        self.progress.wait("evaluating")

    def _leave(self, why: str) -> None:
        """Make a checkpoint, unless an unfinished step cannot be undone: then the last checkpoint is used."""
        can = self.state.undo_step()
        if can:
            self.checkpointer.save()
        chains = self.chains.leave() if self.chains else ""
        self.run_log.leave(why, saved=can, chains=chains)

    def _write(self, step: int, values: dict[str, float]) -> None:
        self.trackers.write(step, values)
        self.run_log.numbers(step, values)
        self.health.look(step, values)

    def _saved(self, folder: Path) -> None:
        self.record.step = self.state.step
        self.record.save()
        with self.view.drawing_from(f"checkpoint_saved/{self.state.step}"):
            self.hooks.checkpoint_saved(view=self.view, path=folder)


def _write_tensors(path: Path, tensors: dict[str, Tensor], headings: Headings = PLAIN) -> None:
    whole = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    write_bytes(path, save_tensors(whole, headings.metadata() or None))
