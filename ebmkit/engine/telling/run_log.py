"""The messages of a run, to `log.txt` and to the progress display."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from ebmkit.contracts.abilities import Scores
from ebmkit.engine.failure import Failure
from ebmkit.engine.folder.history import History
from ebmkit.engine.folder.record import Record
from ebmkit.engine.parts import Parts
from ebmkit.engine.previews import plan_previews
from ebmkit.engine.telling.chain_words import chain_words, count
from ebmkit.engine.telling.progress import Progress
from ebmkit.engine.telling.unit_words import unit_words
from ebmkit.language.plan import Plan
from ebmkit.language.unpackaged import resume_in_python
from ebmkit.maths.process import range_of

#: The numbers that the bar shows in addition to the loss, and their labels.
SHOWN = {
    "energy_data": "E data",
    "energy_model": "E model",
    "gradient_norm": "|grad|",
    "chain_acceptance": "accepted",
}


class RunLog:
    """Writes every message to the log and to the display."""

    def __init__(self, record: Record, progress: Progress) -> None:
        self.record = record
        self.progress = progress
        self._began = time.perf_counter()
        self._from_step = 0
        self._tenth = 0

    def say(self, line: str) -> None:
        """A line of information."""
        self.record.say(line)
        self.progress.say(line)

    def warn(self, line: str) -> None:
        """A warning, which the report repeats."""
        if line in self.record.warnings:  # in an earlier session
            return
        self.record.warnings.append(line)
        self.say(f"warning: {line}")

    def wait(self, for_what: str) -> None:
        """Work of unknown duration begins."""
        self.record.say(for_what)
        self.progress.wait(for_what)

    def plan(self, parts: Parts) -> None:
        """Describe the run before it starts."""
        self.progress.begin(self.record.folder)
        for line in describe(self.record.plan, parts):
            self.say(line)
        self.say(f"folder     {self.record.folder}")

    def train(self, history: History, step: int) -> None:
        """Training begins after `step`."""
        self._began, self._from_step = time.perf_counter(), step
        steps = self.record.plan.spec.steps
        self._tenth = step * 10 // steps
        self.progress.follow("training", steps, lambda: (history.step, brief(history)))

    def numbers(self, step: int, values: dict[str, float]) -> None:
        """New numbers. Losses are shown at every tenth of the training; the final results have their own table."""
        shown = "  ".join(f"{name} {value:.4g}" for name, value in values.items())
        steps = self.record.plan.spec.steps
        if "loss" not in values:
            (self.record.say if step == steps else self.say)(f"step {step}: {shown}")
        elif step * 10 // steps > self._tenth:
            self._tenth = step * 10 // steps
            rate = (step - self._from_step) / (time.perf_counter() - self._began)
            line = f"step {step}/{steps}  {shown}  ({rate:.0f} steps/s, {duration((steps - step) / rate)} left)"
            self.record.say(line)
            self.progress.pace(line)

    def verdict(self, words: str, *, bad: bool) -> None:
        """Whether the samples match the data."""
        if bad:
            self.warn(words)
        else:
            self.say(f"{'verdict':<10} {words}")

    def judge(self, verdict: str, findings: list[str]) -> None:
        """How reliable the samples are, and the reasons to doubt them."""
        if verdict:
            self.say(f"{'chains':<10} {verdict}")
        for finding in findings:
            self.warn(finding)

    def failures(self, failed: Sequence[Failure]) -> None:
        """What failed in the final evaluation; the display shows it with the results."""
        for failure in failed:
            where = f" ({failure.error.place})" if failure.error.place else ""
            self.record.say(f"{failure.what} failed: {failure.error.message}{where}")

    def leave(self, why: str, *, saved: bool, chains: str) -> None:
        """The run stops before its end; `chains` says what is saved of the long chains, if they had begun."""
        record = self.record
        kept = f"saved at step {record.step}" if saved else f"the last checkpoint is of step {record.step}"
        if chains:
            kept = chains
        elif not record.plan.spec.stages:
            kept = "nothing had to be saved" if record.plan.spec.chains else "chains are not saved and will restart"
        line = f"{why}; {kept}; to continue:  {resume_command(record)}"
        record.say(line)
        self.progress.leave(line)


def resume_command(record: Record) -> str:
    """The command that resumes a run, or what does it in Python."""
    if in_python := resume_in_python(record.folder, record.plan.plugins):
        return in_python
    files = [str(loaded.plugin.target) for loaded in record.plan.plugins if isinstance(loaded.plugin.target, Path)]
    words = ["ebmkit", "resume", str(record.folder), *(word for file in files for word in ("--plugin", file))]
    if any(one.drift for one in record.sessions):
        words.append("--allow-drift")
    return shlex.join(words)


def brief(history: History) -> str:
    """The latest numbers, for the bar."""
    words = []
    for name, word in {"loss": "loss", **SHOWN}.items():
        value = history.latest(name)
        if value is not None:
            words.append(f"{word} {value:.3g}")
    return "  ".join(words)


def duration(seconds: float) -> str:
    """Seconds in words: `1 min 05 s`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def describe(plan: Plan, parts: Parts) -> list[str]:
    """The plan in a few lines: components, sizes, steps, device."""
    spec = plan.spec
    lines = []
    if spec.data and parts.train is not None and parts.test is not None:
        shape = " x ".join(map(str, plan.event))
        sizes = f"{len(parts.train):,} training and {len(parts.test):,} held-out points of shape {shape}"
        lines.append(("data", f"{spec.data.component_name}: {sizes}"))
    if words := unit_words(plan, parts.units):
        lines.append(("scale", words))
    lines.append(("model", f"{spec.model.component_name}: {count(parts.parameter_count, 'parameter')}"))
    if "score" in spec.model.traits().offers:
        schedule = cast("Scores", parts.model).schedule
        most, least = range_of(schedule)
        levels = f" in {count(schedule.count, 'level')}" if schedule.conditioning == "sigma" else ""
        lines.append(("noise", f"{schedule.component_name}: {most:.4g} to {least:.4g}{levels}"))
    if spec.objective and spec.stages:
        own = sum(p.numel() for p in parts.extras.parameters() if p.requires_grad) if parts.extras else 0
        extra = f": {count(own, 'additional parameter')}" if own else ""
        lines.append(("objective", spec.objective.component_name + extra))
    for stage in spec.stages:
        size = min(stage.batch_size, len(parts.train) if parts.train is not None else stage.batch_size)
        batches = f"{count(stage.steps, 'step')} of {count(size, 'point')}"
        batches += ", which is all the data" if size < stage.batch_size else ""
        by = [stage.objective.component_name] if stage.objective else []
        what = [*([f"part {stage.part}"] if stage.part else []), *by]
        before = f"{' by '.join(what)}, " if what else ""
        lines.append(("train", f"{before}{stage.optimizer.component_name}: {batches}"))
    if words := chain_words(spec):
        lines.append(("sampler", words))
    if parts.train is not None:
        previews = plan_previews(plan, len(parts.train))
        sets = f"{count(len(previews.steps), 'set')} of {count(previews.samples, 'sample')} during training"
        if words := sets if previews.steps else previews.reason and f"none: {previews.reason}":
            lines.append(("previews", words))
    lines.append(("device", f"{parts.device}, {spec.dtype}, {count(parts.threads, 'thread')}, seed {spec.seed}"))
    return [f"{word:<10} {text}" for word, text in lines]
