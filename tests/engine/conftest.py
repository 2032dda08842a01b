"""Small specs that run in a fraction of a second."""

from __future__ import annotations

import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from ebmkit import load_spec

FAULTY = Path(__file__).with_name("faulty.py")

SMALL: dict[str, Any] = {
    "ebmkit": 1,
    "name": "small",
    "seed": 3,
    "device": "cpu",
    "data": {"use": "two_moons", "size": 200, "test_size": 200},
    "model": {"use": "mlp", "hidden": [8]},
    "objective": "nce",
    "train": {"steps": 20, "batch_size": 32, "ema": 0.9, "final_lr": 0.1},
    "sampler": {"use": "langevin", "steps": 5},
    "samples": 50,
}


@pytest.fixture
def small():
    """A spec to change, as a dictionary."""
    return deepcopy(SMALL)


@pytest.fixture
def plan_of():
    """The plan of a dictionary that may use the faulty plugin."""
    return lambda spec: load_spec(spec, plugins=[str(FAULTY)])


@pytest.fixture
def diary():
    """What the faulty plugin's hooks hear from here on, whenever it is loaded."""
    return lambda: sys.modules["ebmkit_plugin_faulty"].DIARY


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run that went well, for tests that only read."""
    from ebmkit import run

    spec = deepcopy(SMALL)
    spec["evaluate"] = [{"use": "sliced_wasserstein", "samples": 60, "every": 10}]
    spec["samples_every"] = 8
    return run(load_spec(spec), runs_dir=tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session", autouse=True)
def _unhurried(unhurried):
    pass
