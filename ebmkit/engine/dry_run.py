"""The dry run: everything is built and tried once, and nothing is written."""

from __future__ import annotations

import dataclasses
import json
import time
from dataclasses import dataclass
from math import prod

from torch import Tensor

from ebmkit.chains.chain import iterate_chain
from ebmkit.chains.energy import frozen
from ebmkit.chains.joint import ChainSpace
from ebmkit.contracts.files import as_written
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.run_view import RunView
from ebmkit.engine.stage import Stage
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.engine.telling.run_log import describe, duration
from ebmkit.engine.training_state import TrainingState
from ebmkit.language.packages import require_packages
from ebmkit.language.plan import Plan

#: The number of chains in the test of the sampler.
CHAINS = 64

#: The first step on a CPU uses points with this many numbers in total. If it takes longer than PATIENCE seconds, the
#: second one does too, instead of the whole batch: a batch meant for a GPU is tried in part.
FEW, PATIENCE = 1 << 14, 10.0


@dataclass(frozen=True)
class DryRun:
    """What was tried, and its duration."""

    plan: list[str]
    #: Seconds per training step, for each stage; the first step in a process is slower than the following ones.
    steps: list[float]
    #: Estimated duration of the training in seconds.
    seconds: float
    #: If the data are missing: which file, and where the data can be obtained.
    made_up: str | None = None
    origin: str | None = None

    def as_text(self) -> str:
        """The text that `--dry-run` prints."""
        lines = list(self.plan)
        if self.steps:
            each = ", ".join(f"{1000 * s:.3g} ms" if s < 1 else f"about {duration(s)}" for s in self.steps)
            lines.append(f"one step   {each}; the training takes about {duration(self.seconds)}")
        lines.append("model, objective, optimizer and sampler work together; nothing was written")
        if self.made_up:
            lines.append(f"a run needs the data: {self.origin}" if self.origin else "a run needs the data")
        return "\n".join(lines)

    def as_json(self) -> str:
        """The same as JSON."""
        return json.dumps(dataclasses.asdict(self))


def dry_run(plan: Plan) -> DryRun:
    """Build all parts, then take one step of every stage and of the sampler. Random points replace missing data."""
    require_packages(plan)
    parts, spec = build(plan, stand_in=True), plan.spec
    view = assemble(plan, parts)
    state = TrainingState(plan, parts, view.streams, view.history)
    seconds = []
    for state.stage in range(len(spec.stages)):
        state.begin_stage()
        stage = Stage(view, state)
        few = _few(view)
        first = _step(stage, few)
        seconds.append(_step(stage, None if first < PATIENCE else few))
    if plan.chain_sampler:
        _sample(view)
    total = sum(stage.steps * each for stage, each in zip(spec.stages, seconds, strict=True))
    lines, data = describe(plan, parts), spec.data
    if data is None or not (missing := data.missing()):
        return DryRun(lines, seconds, total)
    file, shape = as_written(data, missing[0]), " x ".join(map(str, plan.event))
    made_up = f"there is no file '{file}': random points of shape {shape} stand in"
    lines[0] = f"{'data':<10} {data.component_name}: {made_up}"
    return DryRun(lines, seconds, total, made_up, data.origin())


def _step(stage: Stage, most: int | None) -> float:
    """Seconds per training step, extrapolated to the whole batch if only `most` points are used."""
    whole, began = len(stage.batch(1)), time.perf_counter()
    tried = stage.take_step(1, points=most)
    return (time.perf_counter() - began) * whole / tried


def _sample(view: RunView) -> None:
    """Take one step of the sampler."""
    plan, sampler = view.plan, view.plan.chain_sampler
    assert sampler is not None
    with ErrorSite(plan, plan.spec.chain_sampler_path):
        starts = view.scaled.starts(min(CHAINS, plan.spec.samples))[: _few(view)]
        rng = view.streams.generator("rehearsal")
        with frozen(view.evaluated.with_labels(_labels(view, len(starts)))) as energy:
            space = ChainSpace(sampler, energy, starts, rng)
            for _ in iterate_chain(sampler, space.energy, sampler.init(space.energy, space.start, rng), rng, 1):
                pass


def _labels(view: RunView, n: int) -> Tensor | None:
    """One label for all states, for a model that takes labels."""
    labels = view.parts.train_labels
    return labels[:1].expand(n).to(view.device) if view.spec.model.traits().labelled and labels is not None else None


def _few(view: RunView) -> int | None:
    """The number of points in the first step; None for all."""
    return max(1, FEW // prod(view.event)) if view.parts.device.type == "cpu" else None
