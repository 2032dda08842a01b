"""A run without the run: everything is built and tried once, nothing is written."""

from __future__ import annotations

import dataclasses
import json
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from ebmkit.build import build
from ebmkit.engine.blame import Blame
from ebmkit.engine.chain import run_chain
from ebmkit.engine.context import Context
from ebmkit.engine.divergence import explain
from ebmkit.engine.history import History
from ebmkit.engine.narrator import describe, duration
from ebmkit.engine.stage import Stage
from ebmkit.engine.state import State
from ebmkit.engine.streams import Streams
from ebmkit.engine.view import View
from ebmkit.kinds import Sampler
from ebmkit.plan import Plan

#: Chains that try the sampler.
CHAINS = 64


@dataclass(frozen=True)
class Rehearsal:
    """What was tried, and how long it took."""

    plan: list[str]
    #: Seconds of one training step, stage by stage; the first one in a process is slower than those behind it.
    steps: list[float]
    #: About how long all of the training takes.
    seconds: float

    def as_text(self) -> str:
        """For people."""
        lines = list(self.plan)
        if self.steps:
            each = ", ".join(f"{1000 * seconds:.3g} ms" for seconds in self.steps)
            lines.append(f"one step   {each}; the training takes about {duration(self.seconds)}")
        return "\n".join([*lines, "model, objective, optimizer and sampler work together; nothing was written"])

    def as_json(self) -> str:
        """For programs."""
        return json.dumps(dataclasses.asdict(self))


def rehearse(plan: Plan) -> Rehearsal:
    """Build all parts, make one step of every stage and of the sampler."""
    parts, spec = build(plan), plan.spec
    streams = Streams(spec.seed, parts.device)
    history = History(spec.steps, lambda step, values: None, partial(explain, plan, parts), lag=0)
    view, state = View(plan, parts, streams, history, None), State(plan, parts, streams, history)
    seconds = []
    for state.stage in range(len(spec.stages)):
        stage = Stage(view, state)
        _step(view, stage)
        began = time.perf_counter()
        _step(view, stage)
        seconds.append(time.perf_counter() - began)
    if sampler := plan.chain_sampler:
        path = ("sampler",) if spec.sampler else ("objective", "sampler")
        with Blame(plan, path):
            starts = view.starts(min(CHAINS, spec.samples))
            run_chain(_brief(sampler), parts.evaluated, starts, streams.generator("rehearsal"))
    total = sum(stage.steps * each for stage, each in zip(spec.stages, seconds, strict=True))
    return Rehearsal(describe(plan, parts), seconds, total)


def _step(view: View, stage: Stage) -> None:
    objective, parts = view.plan.spec.objective, view.parts
    assert objective is not None  # resolve promised
    with stage.in_objective:
        context = Context(view.streams.ongoing("objective"), parts.extras, 1, labels=stage.labels(1))
        loss = objective.loss(parts.model, stage.batch(1), context)
        stage.differentiate(loss)
        view.history.add(1, *stage.numbers(loss, context))
    with stage.in_optimizer:
        stage.update(1)


def _brief(sampler: Any) -> Sampler:
    """The same sampler for one step, where the number of steps is a parameter of it."""
    fixed = "steps" not in {field.name for field in dataclasses.fields(sampler)}
    made: Sampler = sampler if fixed else dataclasses.replace(sampler, steps=1)
    return made
