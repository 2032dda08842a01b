"""Samples of a finished run, with their labels."""

import numpy as np
from click.testing import CliRunner

import ebmkit
from ebmkit.cli import group
from tests.language.specs import LABELLED_SCORE, score_spec


def test_samples_of_labels_are_kept_with_them(tmp_path):
    from safetensors.torch import load_file

    folder = ebmkit.run(score_spec(model=LABELLED_SCORE), runs_dir=tmp_path).folder
    kept = load_file(folder / "samples/samples.safetensors")
    assert kept["y"].shape == (50,)
    assert set(kept["y"].tolist()) <= set(range(8))
    out = tmp_path / "x.npz"
    done = CliRunner().invoke(group, ["sample", str(folder), "-n", "7", "--condition", "3", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert np.load(out)["y"].tolist() == [3] * 7
    done = CliRunner().invoke(group, ["sample", str(folder), "--condition", "9", "--out", str(tmp_path / "no.npz")])
    assert done.exit_code == 2
    assert "no training point has label 9" in done.output
    assert not (tmp_path / "no.npz").exists()
