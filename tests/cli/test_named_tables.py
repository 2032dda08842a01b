"""From a table with names to samples with the same names, in every format and in pictures."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from safetensors import safe_open

import ebmkit
from ebmkit.cli import group

SPEC = """ebmkit: 1
parts: {noise: {use: vp}}
data: {use: csv, path: flowers.csv, labels: species}
model: {use: mlp_score, schedule: $noise, hidden: [8], classes: 2}
objective: {use: sde_score_matching, schedule: $noise}
train: {steps: 2, batch_size: 8}
sampler: {use: reverse_sde, schedule: $noise, steps: 3}
samples: 6
"""
NAMES = ("petal, length", "price $ and $")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A project with a table and a finished run."""
    folder = tmp_path_factory.mktemp("project")
    rng = np.random.default_rng(0)
    with (folder / "flowers.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*NAMES, "species"])
        for row in range(40):
            table.writerow([*rng.normal(3 * (row % 2), 1, 2), ("setosa", "virginica")[row % 2]])
    (folder / "spec.yaml").write_text(SPEC)
    run = ebmkit.run(folder / "spec.yaml", runs_dir=folder / "runs", report=True).folder
    return folder, run


def sample(run, out, *more, code=0):
    result = CliRunner().invoke(group, ["sample", str(run), "--out", str(out), *more], prog_name="ebmkit")
    assert result.exit_code == code, result.output
    return result.output


def test_files_of_samples_have_the_names(folder, tmp_path):
    _, run = folder
    sample(run, tmp_path / "x.csv", "--condition", "virginica")
    with (tmp_path / "x.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == [*NAMES, "species"]
    assert [row[2] for row in rows] == ["virginica"] * 6
    sample(run, tmp_path / "x.npz", "--condition", "1")
    arrays = np.load(tmp_path / "x.npz", allow_pickle=False)
    assert arrays["columns"].tolist() == [*NAMES]
    assert arrays["classes"].tolist() == ["setosa", "virginica"]
    assert arrays["y"].tolist() == [1] * 6
    assert np.array_equal(arrays["x"], np.array([row[:2] for row in rows], arrays["x"].dtype))
    sample(run, tmp_path / "x.safetensors")
    for path in (tmp_path / "x.safetensors", run / "samples/samples.safetensors"):
        with safe_open(path, "pt") as file:
            names = json.loads(file.metadata()["names"])
        assert names == {"columns": [*NAMES], "classes": ["setosa", "virginica"], "label": "species"}


def test_a_table_of_samples_is_data_again(folder, tmp_path):
    _, run = folder
    sample(run, tmp_path / "flowers.csv")
    (tmp_path / "spec.yaml").write_text(SPEC)
    data = ebmkit.load_spec(tmp_path / "spec.yaml").spec.data
    assert data.coordinate_names() == NAMES


def test_pictures_and_pages_have_the_names(folder, tmp_path, drawn_text):
    _, run = folder
    page = (run / "report.html").read_text()
    assert r"price \$ and \$ over petal, length" not in page  # it is drawn as it is written
    assert "price $ and $ over petal, length" in page
    sample(run, tmp_path / "x.npz", "--condition", "setosa", "--plot", str(tmp_path / "x.png"))
    assert any("label setosa" in text for text in drawn_text)
    drawn_text.clear()
    np.savez(tmp_path / "known.npz", x=np.zeros((2, 2)), mask=np.array([True, False]), y=np.array([1, 0]))
    files = ["--plot", str(tmp_path / "y.png")]
    sample(run, tmp_path / "y.npz", "--inpaint", str(tmp_path / "known.npz"), *files)
    assert any("with the labels virginica, setosa" in text for text in drawn_text)
    assert NAMES[0] in drawn_text
    assert np.load(tmp_path / "y.npz")["y"].tolist() == [1, 0]
    np.savez(tmp_path / "noisy.npz", x=np.zeros((2, 2)), y=np.array([1, 1]))
    files = ["--plot", str(tmp_path / "z.png"), "--sigma", "0.5"]
    sample(run, tmp_path / "z.npz", "--denoise", str(tmp_path / "noisy.npz"), *files)
    assert any("with the label virginica" in text for text in drawn_text)
    assert np.load(tmp_path / "z.npz")["y"].tolist() == [1, 1]


@pytest.fixture
def drawn_text(monkeypatch):
    """All texts that are drawn."""
    from matplotlib.text import Text

    found, before = [], Text.draw

    def draw(self, *args, **kwargs):
        found.append(self.get_text().replace(r"\$", "$"))
        return before(self, *args, **kwargs)

    monkeypatch.setattr(Text, "draw", draw)
    return found


def test_data_of_the_label_are_shown(folder):
    _, run = folder
    opened = ebmkit.open_run(run)
    view = opened.view.reseeded(4, None, None)
    assert len(view.data("train")) == len(opened.view.data("train"))
    from ebmkit.engine.conditioning import Condition

    view = opened.view.reseeded(4, None, Condition(1))
    assert 0 < len(view.data("train")) < len(opened.view.data("train"))
    assert torch.equal(view.labels("train"), torch.ones(len(view.data("train")), dtype=torch.long))


def test_classes_that_do_not_exist(folder, tmp_path):
    _, run = folder
    assert "there is no label 'lilac': the classes are setosa, virginica" in sample(
        run, tmp_path / "x.npz", "--condition", "lilac", code=2
    )
    assert "there is no label 7" in sample(run, tmp_path / "x.npz", "--condition", "7", code=2)


def test_samples_of_a_class_by_name(folder):
    _, run = folder
    opened = ebmkit.open_run(run)
    assert torch.equal(opened.sample(3, label="virginica"), opened.sample(3, label=1))
    with pytest.raises(ValueError, match="no class 'lilac'"):
        opened.sample(3, label="lilac")


def test_the_names_are_found_from_another_folder(folder, tmp_path, monkeypatch):
    _, run = folder
    monkeypatch.chdir(tmp_path)
    sample(Path(run), tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().startswith('"petal, length",')
