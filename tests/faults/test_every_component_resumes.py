"""Whatever a component keeps between two steps is in the checkpoint: each of them is trained with, left and resumed."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from ebmkit import load_spec
from ebmkit.engine.limit import Limit
from ebmkit.errors import Mistakes
from ebmkit.registry.builtin import COMPONENTS
from tests.drawn import resume, run

from .remains import different, ends

BASE: dict[str, Any] = {
    "ebmkit": 1,
    "name": "tried",
    "device": "cpu",
    "data": {"use": "two_moons", "size": 200, "test_size": 100},
    "model": {"use": "mlp", "hidden": [8]},
    "objective": {
        "use": "mle",
        "sampler": {"use": "langevin", "steps": 3},
        "init": {"use": "replay", "size": 64, "rejuvenation": 0.25},
    },
    "train": {"steps": 6, "batch_size": 16, "ema": 0.9, "optimizer": "adam"},
    "samples": 16,
    "samples_every": None,
}

#: Kind -> where in a spec one of it stands, and what it needs around it.
PLACES: dict[str, tuple[str, dict[str, Any]]] = {
    "model": ("model", {"objective": "nce"}),
    "objective": ("objective", {}),
    "sampler": ("objective.sampler", {}),
    "init": ("objective.init", {}),
    "noise": ("objective.noise", {"objective": {"use": "nce"}}),
    "bregman": ("objective.generator", {"objective": {"use": "bregman"}}),
    "optimizer": ("train.optimizer", {}),
}

DISCRETE: dict[str, Any] = {
    "data": {"use": "from_model", "model": {"use": "boltzmann", "shape": [3]}, "size": 200, "test_size": 100},
    "objective": {**BASE["objective"], "sampler": {"use": "gibbs", "steps": 3}},
}

CATEGORICAL: dict[str, Any] = {
    **DISCRETE,
    "data": {"use": "from_model", "model": {"use": "potts", "shape": [3]}, "size": 200, "test_size": 100},
}

#: Where a component cannot do without others, or wants states of another kind.
OTHERWISE: list[dict[str, Any]] = [
    {},
    {"sampler": {"use": "langevin", "steps": 3}},
    {"data": "digits", "objective": BASE["objective"]},
    {"data": "digits", "objective": BASE["objective"], "model": {"use": "conv", "layers": [{"channels": 4}]}},
    DISCRETE,
    {**DISCRETE, "model": "boltzmann"},
    CATEGORICAL,
    {"objective": {"use": "noise_conditional_score_matching"}, "sampler": "annealed_langevin"},
    {"objective": {"use": "noise_conditional_score_matching"}, "data": "digits"},
    {"model": {"use": "mlp_score", "hidden": [8], "classes": 2}},
    {"model": {"use": "mlp_score", "hidden": [8], "schedule": "vp"}},
]

#: By kind or name: a chain of three steps keeps as much as one of a hundred, a flow that fits badly as much as another.
SETTINGS: dict[str, dict[str, Any]] = {
    "sampler": {"steps": 3},
    "flow": {"steps": 5},
    "flow_ce": {"noise": {"use": "flow", "steps": 5}},
    "unet_score": {"channels": 8},
    "unet_potential": {"channels": 8},
}

TRIED = [(kind, name) for kind in PLACES for name in COMPONENTS.get(kind, ("", ""))[1].split()]


def spec_with(kind: str, name: str, other: dict[str, Any]) -> dict[str, Any]:
    path, around = PLACES[kind]
    spec: dict[str, Any] = deepcopy({**BASE, **around, **other})
    *sections, last = path.split(".")
    section = spec
    for key in sections:
        section = section[key]
    section[last] = {"use": name, **SETTINGS.get(kind, {}), **SETTINGS.get(name, {})}
    return spec


def plan_with(kind: str, name: str):
    """The first spec around the component that holds together."""
    found = []
    for other in OTHERWISE:
        if kind == "model" and "model" in other:
            continue
        try:
            return load_spec(spec_with(kind, name, other))
        except Mistakes as mistakes:
            found.append(str(mistakes))
    return pytest.skip(found[0])


@pytest.mark.parametrize(("kind", "name"), TRIED, ids=lambda word: word)
def test_a_run_with_it_ends_where_the_undisturbed_one_ends(kind, name, tmp_path, undrawn):
    plan = plan_with(kind, name)
    undisturbed = run(plan, runs_dir=tmp_path / "undisturbed").folder
    folder = run(plan, runs_dir=tmp_path / "left", limit=Limit(steps=3)).folder
    resume(load_spec(folder / "resolved.yaml"), folder)
    assert different(ends(folder), ends(undisturbed)) == []
