"""Views of finished runs, and of models that need no training; denoising."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from torch import Tensor

from ebmkit.chains.draws import RATES
from ebmkit.components.trackers.jsonl import read_records
from ebmkit.contracts.draws import Draws, under
from ebmkit.engine.assemble import assemble
from ebmkit.engine.build import build
from ebmkit.engine.conditioning import Condition
from ebmkit.engine.failure import SAMPLES
from ebmkit.engine.folder import checkpoint
from ebmkit.engine.folder.chain_checkpoints import CHAINS, TUNING
from ebmkit.engine.folder.locked import data_files, plugins_changed
from ebmkit.engine.folder.lockfile import drift
from ebmkit.engine.folder.run_format import check_folder
from ebmkit.engine.rng import Streams
from ebmkit.engine.run_view import RunView
from ebmkit.engine.telling.error_site import ErrorSite, label_at
from ebmkit.engine.training_state import fitting, restore_weights
from ebmkit.errors.running import ComponentFailed, Diverged, Drifted, StorageFailed
from ebmkit.language.plan import Plan
from ebmkit.maths.process import level_and_signal
from ebmkit.storage.columns import column_file, mapped
from ebmkit.storage.reading import read_whole

#: How a run ended that has no final samples, and perhaps no final weights.
FAILED = ("diverged", "failed")


def view_of(
    plan: Plan,
    run_folder: Path | None,
    *,
    samples: int | None = None,
    seed: int | None = None,
    condition: Condition | None = None,
    experiment: str | None = None,
    say: Callable[[str], None] = print,
) -> RunView:
    """A view with the weights and the history of `run_folder`, or of a model that needs no training.

    With the seed and the number of samples of the run, it draws the same samples that the run kept, unless a
    `condition` is given or the plan samples differently. In the latter case `experiment` is the hash of the run's plan.
    """
    if run_folder:
        check_folder(run_folder)
    if samples is not None:
        plan = dataclasses.replace(plan, spec=dataclasses.replace(plan.spec, samples=samples))
    parts = build(plan)
    view = assemble(plan, parts, run_folder, streams=None if seed is None else Streams(seed, parts.device))
    view.condition = condition
    if run_folder:
        if differing := drift(run_folder, {"data": data_files(plan)}, keys=["data"]):
            raise Drifted(f"the data are not those of {run_folder}: " + "; ".join(differing))
        if changed := plugins_changed(run_folder, plan):
            say(f"warning: {run_folder} was made with other code of its plugins: {'; '.join(changed)}")
        saved = checkpoint.latest(run_folder / "checkpoints", experiment or plan.hash, say)
        if saved is None:
            raise StorageFailed(f"{run_folder}: the run has no checkpoint")
        restore_weights(parts, saved)
        with fitting(saved):
            view.history.restore(saved.values["history"])
        view.history.step = saved.step
    return view


def view_for_report(plan: Plan, run_folder: Path, summary: dict[str, Any], say: Callable[[str], None]) -> RunView:
    """A view with everything that the run kept. `summary` is the content of its `run.json`.

    Of a run that diverged or failed these are the numbers up to its end. If trained weights are lost, since an earlier
    checkpoint would not belong to the numbers, panels that need weights or samples say why they are empty; otherwise
    only those that need samples do. Samples that could not be drawn are not tried again.
    """
    if summary["status"] in FAILED:
        return _view_of_failed(plan, run_folder, summary, say)
    view = view_of(plan, run_folder, say=say)
    if give_final_samples(view, run_folder, summary):
        view.results = summary["results"]
    for failure in summary["failed"]:
        if failure.get("what") == SAMPLES:
            view.refuse_samples(Diverged(str(failure.get("reason"))))
    return view


def _view_of_failed(plan: Plan, run_folder: Path, summary: dict[str, Any], say: Callable[[str], None]) -> RunView:
    records = read_records(run_folder)
    last = records[-1][0] if records else plan.spec.steps  # without records, only final weights can be trusted
    intact = last <= _last_checkpoint(plan, run_folder)
    view = view_of(plan, run_folder, say=say) if intact else assemble(plan, build(plan), run_folder)
    later = records[len(view.history.records) :]  # such as the results after training
    step = view.step if intact else later[-1][0] if later else 0
    view.history.restore({"step": step, "records": later, "collected": []})
    error = Diverged if summary["status"] == "diverged" else ComponentFailed
    refuse = view.refuse_samples if intact or not plan.spec.stages else view.refuse_weights
    refuse(error(str(summary.get("error", "the run failed"))))
    view.results = summary["results"]
    return view


def _last_checkpoint(plan: Plan, run_folder: Path) -> int:
    """The step of the last intact checkpoint of this experiment; -1 if there is none."""
    try:
        saved = checkpoint.latest(run_folder / "checkpoints", plan.hash, lambda line: None)
    except StorageFailed:
        return -1
    return saved.step if saved else -1


def denoise(view: RunView, noisy: Tensor, sigma: float, labels: Tensor | None = None) -> Tensor:
    """Tweedie's formula: the mean of clean states x given y = x + sigma xi.

        E[x | y] = y + sigma^2 s(y),    s the score of noised states

    States are in the units of the data, but noise is added in the space of `scale`, where sigma is a number of standard
    deviations.

    `level_and_signal` finds the noise level of the model. A ValueError says that it was not trained for this noise.
    """
    units, view = view.units, view.scaled
    y = units.into(noisy, view.dtype).to(view.device)
    level, signal = level_and_signal(view.schedule, sigma)
    with ErrorSite(view.plan, ("model",)):
        clean = y + sigma**2 * signal * view.score(signal * y, level, labels)
    if wrong := len(y) - int(clean.flatten(1).isfinite().all(1).sum()):
        raise Diverged(
            f"{label_at(view.plan, ('model',))}: {wrong} of {len(y)} denoised states are not finite",
            view.plan.place(("model",)),
            help="check that the noisy states are in the units of the data",
        )
    return units.out_of(clean)


def give_final_samples(view: RunView, run_folder: Path, summary: dict[str, Any]) -> bool:
    """Give the view the samples that the run kept, if they were drawn with its weights."""
    if view.step != summary["step"]:
        return False
    give_kept_samples(view, run_folder)
    return True


def give_kept_samples(view: RunView, run_folder: Path) -> None:
    """Give the view the samples that a finished run kept."""
    long = view.plan.spec.chains
    traces, kept = (run_folder / f"samples/{name}.safetensors" for name in ("traces", "samples"))
    if not traces.is_file():
        if long:  # to run them again from the beginning would take as long as the run, and leave nothing
            view.refuse_samples(
                StorageFailed(f"{run_folder}: its chains are not complete; 'ebmkit resume {run_folder}' continues them")
            )
        return
    try:
        if long and (run_folder / CHAINS / TUNING).is_file():
            view.give(None, _read(traces), _draws(run_folder / CHAINS))
        elif kept.is_file():
            x = _read(kept)["x"]
            others = _read(run_folder / "samples/chains.safetensors") if long else {}
            view.give(x, _read(traces), _draws_of_old(x, long.count, others) if long else None)
    except (SafetensorError, KeyError, RuntimeError) as error:
        raise StorageFailed(f"{run_folder}: the samples in it are damaged: {error}") from error


def _draws(folder: Path) -> Draws:
    """The draws of long chains, mapped from their files."""
    files = {name: column_file(folder, name) for name in ("energy", *RATES)}
    seen = {name: mapped(file) for name, file in files.items() if file.is_file()}
    return Draws.from_tensors(mapped(column_file(folder, "x")), seen, _read(folder / TUNING))


def _draws_of_old(x: Tensor, chains: int, others: dict[str, Tensor]) -> Draws:
    """The draws of a run that wrote them when all were made, one chain after the other."""
    return Draws.from_tensors(x.view(chains, -1, *x.shape[1:]), under("seen.", others), others)


def _read(path: Path) -> dict[str, Tensor]:
    return load_tensors(read_whole(path))
