"""What is said while a run is under way: into `log.txt`, and to whoever watches."""

from __future__ import annotations

import time

from ebmkit.build import Parts
from ebmkit.engine.progress import Progress
from ebmkit.plan import Plan
from ebmkit.record import Record


class Narrator:
    """Says everything twice."""

    def __init__(self, record: Record, progress: Progress) -> None:
        self.record = record
        self.progress = progress
        self._began = time.perf_counter()
        self._tenth = 0

    def say(self, line: str) -> None:
        """A line worth reading."""
        self.record.say(line)
        self.progress.say(line)

    def wait(self, for_what: str) -> None:
        """Something slow begins."""
        self.record.say(for_what)
        self.progress.wait(for_what)

    def plan(self, parts: Parts) -> None:
        """What is about to happen."""
        self.progress.begin(self.record.folder)
        for line in describe(self.record.plan, parts):
            self.say(line)
        self.say(f"folder     {self.record.folder}")
        self._began = time.perf_counter()

    def numbers(self, step: int, values: dict[str, float]) -> None:
        """New numbers. Losses make a line at every tenth of the way; the last results have a table of their own."""
        shown = "  ".join(f"{name} {value:.4g}" for name, value in values.items())
        train = self.record.plan.spec.train
        if "loss" not in values:
            last = not train or step == train.steps
            (self.record.say if last else self.say)(f"step {step}: {shown}")
        elif train and step * 10 // train.steps > self._tenth:
            self._tenth = step * 10 // train.steps
            rate = step / (time.perf_counter() - self._began)
            line = f"step {step}/{train.steps}  {shown}  ({rate:.0f} steps/s)"
            self.record.say(line)
            self.progress.pace(line)


def describe(plan: Plan, parts: Parts) -> list[str]:
    """The plan in a few lines: components, sizes, device, steps."""
    spec = plan.spec
    lines = {}
    if spec.data and parts.train is not None and parts.test is not None:
        shape = " x ".join(map(str, plan.event))
        sizes = f"{len(parts.train):,} points to train and {len(parts.test):,} held out, of shape {shape}"
        lines["data"] = f"{spec.data.component_name}: {sizes}"
    lines["model"] = f"{spec.model.component_name}: {_count(parts.parameter_count, 'parameter')}"
    if spec.objective and spec.train:
        own = sum(p.numel() for p in parts.extras.parameters() if p.requires_grad) if parts.extras else 0
        lines["objective"] = spec.objective.component_name
        lines["objective"] += f": {_count(own, 'parameter')} of its own" if own else ""
        batches = f"{_count(spec.train.steps, 'step')} of {_count(spec.train.batch_size, 'point')}"
        lines["train"] = f"{spec.train.optimizer.component_name}: {batches}"
    if sampler := plan.chain_sampler:
        chains = f"{_count(spec.samples, 'chain')} of {_count(sampler.steps, 'step')}"
        lines["sampler"] = f"{sampler.component_name}: {chains}"
    lines["device"] = f"{parts.device}, {_count(parts.threads, 'thread')}, seed {spec.seed}"
    return [f"{word:<10} {text}" for word, text in lines.items()]


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
