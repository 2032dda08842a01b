"""Samples without training: from a run that is over, or from a model that needs none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ebmkit.build import build
from ebmkit.engine import checkpoint
from ebmkit.engine.history import History
from ebmkit.engine.streams import Streams
from ebmkit.engine.view import View
from ebmkit.plan import Plan


def view_of(plan: Plan, run_folder: Path | None, *, samples: int, seed: int | None = None) -> View:
    """A view that draws `samples` samples, with the weights of `run_folder` where one is given.

    With the seed of the run, and as many samples, these are the very samples that the run kept.
    """
    plan = dataclasses.replace(plan, spec=dataclasses.replace(plan.spec, samples=samples))
    parts = build(plan)
    history = History(plan, lambda step, values: None)
    if run_folder:
        history.step = checkpoint.restore(run_folder, parts)
    streams = Streams(plan.spec.seed if seed is None else seed, parts.device)
    return View(plan, parts, streams, history, run_folder)
