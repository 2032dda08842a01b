"""Objectives that are another one by default, to the last bit: `benchmarks/own_data.py` runs one of each pair."""

import numpy as np
import pytest
import torch

import ebmkit

#: As `TWINS` of benchmarks/own_data.py.
TWINS = {"adaptive_bregman": "adaptive_nce", "sliced_score_matching": "hutchinson_score_matching"}


@pytest.mark.parametrize("name", TWINS)
def test_a_run_with_defaults_is_the_same_to_the_last_bit(name, tmp_path):
    path = tmp_path / "points.npz"
    np.savez(path, x=np.random.default_rng(0).standard_normal((60, 2)) * [3, 0.1] + 5)

    def run(objective):
        spec = {
            "ebmkit": 1,
            "data": {"use": "npz", "path": str(path)},
            "model": {"use": "mlp", "hidden": [8]},
            "objective": objective,
            "train": {"steps": 12, "batch_size": 16},
            "sampler": {"use": "langevin", "steps": 30},
            "samples": 30,
            "evaluate": [{"use": "sliced_wasserstein", "samples": 30}],
        }
        record = ebmkit.run(spec, runs_dir=tmp_path / objective, report=False)
        return ebmkit.open_run(record.folder)

    one, two = run(name), run(TWINS[name])
    assert one.results == two.results
    assert torch.equal(one.samples, two.samples)
    weights = zip(one.model.parameters(), two.model.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)
    assert one.metrics["loss"] == two.metrics["loss"]
