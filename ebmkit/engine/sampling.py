"""A run that is over, or a model that needs no training, to be looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors

from ebmkit.build import build
from ebmkit.engine import checkpoint
from ebmkit.engine.divergence import explain
from ebmkit.engine.draws import Draws
from ebmkit.engine.history import History
from ebmkit.engine.state import fitting, restore_weights
from ebmkit.engine.streams import Streams
from ebmkit.engine.view import View
from ebmkit.errors.running import Drifted, StorageFailed
from ebmkit.lock import data_files, drift
from ebmkit.plan import Plan
from ebmkit.storage import storing


def view_of(
    plan: Plan,
    run_folder: Path | None,
    *,
    samples: int | None = None,
    seed: int | None = None,
    say: Callable[[str], None] = print,
) -> View:
    """A view with the weights and the history of `run_folder`, or of a model that needs no training.

    With the seed of the run, and as many samples, it draws the very samples that the run kept.
    """
    if samples is not None:
        plan = dataclasses.replace(plan, spec=dataclasses.replace(plan.spec, samples=samples))
    parts = build(plan)
    history = History(plan.spec.steps, lambda step, values: None, partial(explain, plan, parts), lag=0)
    if run_folder:
        if differing := drift(run_folder, {"data": data_files(plan)}, keys=["data"]):
            raise Drifted(f"the data are not those of {run_folder}: " + "; ".join(differing))
        saved = checkpoint.latest(run_folder / "checkpoints", plan.hash, say)
        if saved is None:
            raise StorageFailed(f"{run_folder}: nothing was saved there yet")
        restore_weights(parts, saved)
        with fitting(saved):
            history.restore(saved.values["history"])
        history.step = saved.step
    streams = Streams(plan.spec.seed if seed is None else seed, parts.device)
    return View(plan, parts, streams, history, run_folder)


def give_kept_samples(view: View, run_folder: Path) -> None:
    """Let the samples that a finished run kept stand for those of the view."""
    kept, traces, chains = (run_folder / f"samples/{name}.safetensors" for name in ("samples", "traces", "chains"))
    if kept.is_file() and traces.is_file():
        long = view.plan.spec.chains
        with storing(kept):
            contents = [path.read_bytes() for path in ((kept, traces, chains) if long else (kept, traces))]
        try:
            x, *others = (load_tensors(content) for content in contents)
            draws = Draws.from_tensors(x["x"], long.count, others[1]) if long else None
            view.give(x["x"], others[0], draws)
        except (SafetensorError, KeyError, RuntimeError) as error:
            raise StorageFailed(f"{kept.parent}: the samples in it are damaged: {error}") from error
