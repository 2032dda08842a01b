"""Where the chains that sample a run really begin."""

from __future__ import annotations

import json

import pytest

import ebmkit
from ebmkit.engine.sampling import view_of

#: New chains start far outside; those in the buffer are at most a few steps from where they were restarted.
SPEC = {
    "ebmkit": 1,
    "name": "starts",
    "device": "cpu",
    "data": {"use": "two_moons", "size": 200, "test_size": 100},
    "model": {"use": "mlp", "hidden": [8]},
    "objective": {
        "use": "mle",
        "sampler": {"use": "langevin", "steps": 2},
        "init": {"use": "replay", "size": 64, "rejuvenation": 0.5, "restart": {"use": "noise", "scale": 9.0}},
    },
    "train": {"steps": 6, "batch_size": 64},
    "samples": 50,
    "samples_every": None,
    "evaluate": [{"use": "sliced_wasserstein", "samples": 50}],
}


def states(x) -> set[tuple[float, ...]]:
    return {tuple(row) for row in x.tolist()}


@pytest.mark.parametrize("objective", ["mle", "adaptive_nce"])
@pytest.mark.parametrize("init", [None, "training"])
def test_chains_begin_where_the_resolved_spec_says(objective, init, tmp_path):
    spec = {**SPEC, "objective": {**SPEC["objective"], "use": objective}, **({"init": init} if init else {})}
    record = ebmkit.run(spec, runs_dir=tmp_path, report=False)
    view = view_of(record.plan, record.folder)
    buffer = next(module for module in view.parts.extras.modules() if hasattr(module, "positions")).positions
    kept = len(states(view.starts(64)) & states(buffer))
    if init:
        assert 15 < kept < 50  # the buffer itself restarts half of them
        assert len(states(view.starts(64)) & states(buffer)) == kept  # and is not changed
    else:
        assert kept == 0
        assert 7 < float(view.starts(64).std()) < 11
    words = f"langevin: 50 chains of {2 if init else 4} steps from {init or 'noise'}"
    assert f"sampler    {words}" in (record.folder / "log.txt").read_text()
    assert json.loads((record.folder / "run.json").read_text())["sampling"] == words
    assert f"use: {init or 'noise'}" in (record.folder / "resolved.yaml").read_text().split("\ninit:")[1][:40]


def test_a_run_resumed_continues_the_same_chains_of_training(tmp_path):
    from ebmkit.engine import session
    from ebmkit.engine.limit import Limit

    plan = ebmkit.load_spec({**SPEC, "init": "training"})
    whole = session.run(plan, runs_dir=tmp_path)
    paused = session.run(plan, runs_dir=tmp_path, limit=Limit(steps=3))
    assert session.resume(plan, paused.folder).results == whole.results
