"""A run that was interrupted, at any moment, ends where the undisturbed one ends.

What a signal does to the process is tested elsewhere; here it is the bits that count.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from copy import deepcopy

import pytest

from .nursery import Nursery
from .remains import different, ends
from .specs import LONG, SHORT


def patient(spec):
    """Most of the time is spent inside chains, where a step has to be undone."""
    spec = deepcopy(spec)
    if "sampler" in spec["objective"]:
        spec["objective"]["sampler"]["steps"] = 150
    return spec


def stopped_early():
    """Ends when a metric no longer improves, which depends on what was recorded."""
    spec = patient(SHORT)
    spec["name"] = "stopped"
    spec["train"][1]["stop"] = {"metric": "sliced_wasserstein", "patience": 1}
    spec["evaluate"][0]["every"] = 3
    return spec


SPECS = {spec["name"]: spec for spec in (patient(SHORT), LONG, stopped_early())}


def disturb(nursery: Nursery, name: str, written, folder, dice: random.Random, times: int) -> Counter[str]:
    path, seen = written(SPECS[name]), Counter[str]()
    life = nursery.live("run", path, "--runs-dir", folder / "undisturbed", "--quiet")
    assert life.status == 0, life.said
    (undisturbed,) = folder.glob("undisturbed/*/*/")
    expected = ends(undisturbed)
    for number in range(times):
        runs = folder / str(number)
        fate = {"signal_after": dice.uniform(0.1, 1) * life.seconds, "number": signal.SIGINT}
        status = nursery.live("run", path, "--runs-dir", runs, **fate).status
        if not any(runs.glob("*/*/run.json")):
            assert status == 130
            seen["early"] += 1
            continue
        (run,) = runs.glob("*/*/")
        for _ in range(3):
            if status == 0:
                break
            assert status == 130
            seen["interrupted"] += 1
            status = nursery.live("resume", run, **fate).status
        if status:
            last = nursery.live("resume", run)
            assert last.status == 0, last.said
        assert different(ends(run), expected) == [], run
        seen["ended"] += 1
    return seen


def test_an_interrupted_run_that_stops_early_ends_where_the_undisturbed_one_ends(nursery, written, tmp_path):
    """The one case that `test_signals` does not have."""
    seen = disturb(nursery, "stopped", written, tmp_path, random.Random("stopped"), times=1)
    assert seen["ended"] + seen["early"] == 1


@pytest.mark.long
@pytest.mark.parametrize("name", SPECS)
def test_many_interrupted_runs_end_where_undisturbed_ones_end(name, nursery, written, tmp_path):
    seen = disturb(nursery, name, written, tmp_path, random.Random(7), times=20)
    assert seen["interrupted"] > 10
