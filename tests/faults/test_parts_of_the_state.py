"""Each part of what a checkpoint holds is needed: without it a run that goes on ends elsewhere."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from ebmkit import load_spec
from ebmkit.engine.folder.checkpoint import Saved, latest
from ebmkit.engine.limit import Limit
from ebmkit.engine.training_state import OWN, TrainingState
from ebmkit.errors.running import StorageFailed
from tests.drawn import resume, run

from .remains import different, ends
from .specs import LONG, SHORT
from .specs import PARTS as STAGES

PLUGINS = [str(Path(__file__).with_name("restless.py"))]

Spec = dict[str, Any]


def changed(spec: Spec, **sections: Any) -> Spec:
    return {**deepcopy(spec), **sections}


#: Conv nets with spectral norm live on images; these are eight by eight.
IMAGES = changed(
    SHORT,
    name="images",
    data={"use": "digits"},
    model={"use": "conv", "layers": [{"channels": 4}], "spectral_norm": True},
    samples=16,
    evaluate=[],
    samples_every=None,
)

#: Chains of steps so small that a warning is due at step 20.
WARNED = changed(
    SHORT,
    name="warned",
    objective={"use": "mle", "sampler": {"use": "metropolis", "steps": 3, "scale": 0.001}},
)

RESTLESS = changed(SHORT, name="restless", model={"use": "restless.restless"})

#: Name -> the spec, and the step behind which it is left: an evaluation is due there, or a window is half full, or the
#: training is over.
SPECS: dict[str, tuple[Spec, int]] = {
    "mle": (SHORT, 10),
    "mle, second stage": (SHORT, 20),
    "mle, last step": (SHORT, 24),
    "nce": (LONG, 101),
    "nce, end of a stage": (LONG, 201),
    "nce, second stage": (LONG, 250),
    "nce, last step": (LONG, 403),
    "images": (IMAGES, 5),
    "images, last step": (IMAGES, 24),
    "warning to come": (WARNED, 15),
    "warning told": (WARNED, 21),
    "parts, second stage": (STAGES, 15),
    "restless": (RESTLESS, 9),
    "restless, last step": (RESTLESS, 24),
}


@dataclasses.dataclass(frozen=True)
class Part:
    """Some of what a checkpoint holds: tensors or values whose path matches."""

    spec: str
    pattern: str

    def without(self, saved: Saved, fresh: Saved) -> Saved:
        """The checkpoint with this part as it is in a run that was just begun."""
        zeros = {f"optimizer/{name}": torch.zeros_like(old) for name, old in saved.tensors["optimizer"].items()}
        # An optimizer that made no step holds nothing, and a stage that has not begun has no extras.
        zeros |= {f"{OWN}/{name}": torch.zeros_like(old) for name, old in saved.tensors.get(OWN, {}).items()}
        before = {**zeros, **paths(fresh)}
        kept = {path: before[path] if re.fullmatch(self.pattern, path) else old for path, old in paths(saved).items()}
        tensors = {group: {name: kept[f"{group}/{name}"] for name in saved.tensors[group]} for group in saved.tensors}
        history = {name: kept[f"history/{name}"] for name in saved.values["history"]}
        values = {name: kept[f"values/{name}"] for name in saved.values if name != "history"}
        return Saved(kept["step"], tensors, {**values, "history": history})


def paths(saved: Saved) -> dict[str, Any]:
    """Everything in a checkpoint, by path."""
    found = {f"{group}/{name}": tensor for group, named in saved.tensors.items() for name, tensor in named.items()}
    found |= {f"values/{name}": value for name, value in saved.values.items() if name != "history"}
    return found | {f"history/{name}": value for name, value in saved.values["history"].items()} | {"step": saved.step}


PARTS = {
    "weights": Part("mle", r"model/.*"),
    "running mean": Part("mle", r"mean/.*"),
    "replay buffer": Part("mle", r"extras/positions"),
    "which slots of the buffer were used": Part("mle", r"extras/used"),
    "ages of the slots": Part("mle", r"extras/(draws|kept_at)"),
    "first moments": Part("mle", r"optimizer/\d+\.exp_avg"),
    "second moments": Part("mle", r"optimizer/\d+\.exp_avg_sq"),
    "steps of the optimizer": Part("mle", r"optimizer/\d+\.step"),
    "mean square of the gradient": Part("nce, second stage", r"optimizer/\d+\.square_avg"),
    "momentum": Part("mle, second stage", r"optimizer/\d+\.momentum_buffer"),
    "generator of the objective": Part("mle", r"random/objective"),
    "generator of those who look": Part("restless", r"random/view"),
    "generator of torch itself": Part("restless", r"random/torch"),
    "step, and with it the position in the data": Part("mle", r"step"),
    "stage": Part("mle, second stage", r"values/stage"),
    "whether a part was started": Part("parts, second stage", r"values/begun"),
    "buffer of a stage": Part("parts, second stage", r"stage_extras/.*"),
    "beginning of the stage": Part("mle, second stage", r"values/stage_began"),
    "what was evaluated": Part("mle", r"values/evaluated"),
    "recorded history": Part("mle", r"history/records"),
    "numbers of a window that is not full": Part("nce", r"history/collected"),
    "step of the history": Part("mle, last step", r"history/step"),
    "log Z": Part("nce", r"extras/log_z"),
    "spectral norm": Part("images", r"model/.*\.[uv]"),
    "spectral norm of the running mean": Part("images, last step", r"mean/.*\.[uv]"),
    "counters of a model": Part("restless", r"model/passes"),
    "counters that are replaced": Part("restless", r"model/replaced"),
    "counters of the running mean": Part("restless, last step", r"mean/(passes|replaced)"),
}

#: What could be left out here: noise that is fitted to the data does not move, and these optimizers hold tensors only.
SPARE = r"extras/noise\..*|values/optimizer"


@dataclasses.dataclass(frozen=True)
class Runs:
    """Two runs of one spec."""

    undisturbed: dict[str, bytes]
    left: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Callable[[str], Runs]:
    """Those of a spec, made when they are first asked for."""

    whole: dict[str, dict[str, bytes]] = {}

    @cache
    def made(name: str) -> Runs:
        spec, step = SPECS[name]
        plan, folder = load_spec(spec, plugins=PLUGINS), tmp_path_factory.mktemp("runs")
        if spec["name"] not in whole:
            whole[spec["name"]] = ends(run(plan, runs_dir=folder / "undisturbed").folder)
        left = run(plan, runs_dir=folder / "left", limit=Limit(steps=step)).folder
        return Runs(whole[spec["name"]], left)

    return made


@pytest.fixture
def compare(runs, tmp_path, undrawn, monkeypatch) -> Callable[..., list[str]]:
    """Goes on with a run, from a checkpoint that may be changed; the names of what then differs from the other one."""

    def compare(name: str, change: Callable[[Saved, TrainingState], Saved] = lambda saved, state: saved) -> list[str]:
        folder, restore = tmp_path / "run", TrainingState.restore
        shutil.copytree(runs(name).left, folder)
        monkeypatch.setattr(TrainingState, "restore", lambda state, saved: restore(state, change(saved, state)))
        try:
            resume(load_spec(folder / "resolved.yaml", plugins=PLUGINS), folder)
        except StorageFailed as error:  # an optimizer that is handed the state of another
            return [error.message]
        return different(ends(folder), runs(name).undisturbed)

    return compare


@pytest.mark.parametrize("spec", SPECS)
def test_with_all_parts_a_run_ends_where_the_undisturbed_one_ends(spec, compare):
    assert compare(spec) == []


def test_a_warning_is_told_once(runs, undrawn):
    warnings = json.loads(runs("warning told").undisturbed["run.json"])["warnings"]
    assert len([warning for warning in warnings if "of the proposals are accepted" in warning]) == 1
    assert len(set(warnings)) == len(warnings)


@pytest.mark.parametrize("part", PARTS)
def test_without_one_part_it_does_not(part, compare):
    left_out = []

    def without(saved: Saved, state: TrainingState) -> Saved:
        for path in saved.tensors["random"]:
            state.streams.ongoing(path)  # begins it
        changed = PARTS[part].without(saved, state.save())
        left_out.append(not _same(changed, saved))
        return changed

    assert compare(PARTS[part].spec, without)
    assert left_out == [True]


def test_the_last_window_of_each_stage_is_recorded_though_it_is_not_full(runs, undrawn):
    lines = map(json.loads, runs("nce").undisturbed["metrics.jsonl"].splitlines())
    steps = [line["step"] for line in lines if "loss" in line]
    assert [step for step in steps if step % 2] == [201, 403]


def test_there_is_no_other_part(runs, undrawn):
    """Whoever adds something to the state adds it to the table above."""
    known = "|".join([SPARE, *(part.pattern for part in PARTS.values())])
    saved = [latest(runs(name).left / "checkpoints", None, pytest.fail) for name in SPECS]
    assert [path for each in saved for path in paths(each) if not re.fullmatch(known, path)] == []


def _same(one: Saved, other: Saved) -> bool:
    before, after = paths(one), paths(other)
    return all(_equal(before[path], after[path]) for path in after)


def _equal(one: Any, other: Any) -> bool:
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else bool(one == other)
