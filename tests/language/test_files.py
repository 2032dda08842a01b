"""Relative paths: looked for in the folder of the spec, then in the working directory; runs find their files again."""

from pathlib import Path

import pytest

import ebmkit
from ebmkit.contracts.files import LocatedPath
from ebmkit.engine.folder.locked import data_files
from ebmkit.errors import Mistakes

SPEC = """ebmkit: 1
data: {use: csv, path: points.csv}
model: mlp
objective: nce
train: {steps: 1, batch_size: 4}
sampler: {use: langevin, steps: 2}
samples: 4
"""


def table(path: Path, columns: int = 2) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        "\n".join(",".join(str((row * 7 + column * 3) % 11) for column in range(columns)) for row in range(30))
    )
    return path


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with a spec, another one to work in."""
    (tmp_path / "project").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "project" / "spec.yaml").write_text(SPEC)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "project"


def test_the_folder_of_the_spec_comes_before_the_working_directory(project):
    in_project = table(project / "points.csv")
    table(Path("points.csv"), columns=3)
    plan = ebmkit.load_spec(project / "spec.yaml")
    assert plan.event == (2,)
    assert plan.spec.data.path == "points.csv"
    assert plan.resolved["files"] == {"points.csv": str(in_project)}
    in_project.unlink()
    assert ebmkit.load_spec(project / "spec.yaml").event == (3,)


def test_a_default_path_is_looked_for_too(project):
    table(project / "data.csv")
    (project / "spec.yaml").write_text(SPEC.replace("{use: csv, path: points.csv}", "csv"))
    plan = ebmkit.load_spec(project / "spec.yaml")
    assert plan.event == (2,)
    assert plan.origins[("data", "path")] == "default of data 'csv'"


def test_flags_and_dictionaries_are_relative_to_the_working_directory(project):
    table(project / "points.csv")
    table(project / "other.csv")
    here = table(Path("other.csv"), columns=3)
    plan = ebmkit.load_spec(project / "spec.yaml", sets="data.path=other.csv")
    assert plan.spec.data.files() == (here.absolute(),)
    with pytest.raises(Mistakes, match=r"no file 'points.csv' in .*elsewhere, the working directory"):
        ebmkit.load_spec(
            {"ebmkit": 1, "data": {"use": "csv", "path": "points.csv"}, "model": "mlp", "sampler": "langevin"}
        )


def test_a_path_of_a_base_is_relative_to_the_base(project, tmp_path):
    table(tmp_path / "common" / "points.csv")
    (tmp_path / "common" / "base.yaml").write_text(SPEC)
    (project / "spec.yaml").write_text("extends: ../common/base.yaml\nseed: 1\n")
    assert ebmkit.load_spec(project / "spec.yaml").spec.data.files() == (tmp_path / "common" / "points.csv",)
    # The same words in two folders would be two files.
    table(project / "points.csv")
    outliers = "evaluate: [{use: ood_auroc, outliers: {use: csv, path: points.csv}}]\n"
    (project / "spec.yaml").write_text(f"extends: ../common/base.yaml\n{outliers}")
    with pytest.raises(Mistakes, match="two folders"):
        ebmkit.load_spec(project / "spec.yaml")


def test_a_message_names_the_folders(project):
    with pytest.raises(Mistakes) as caught:
        ebmkit.load_spec(project / "spec.yaml")
    (mistake,) = caught.value.mistakes
    assert f"there is no file 'points.csv' in {project}, the folder of the spec, nor in {Path.cwd()}" in mistake.message
    assert str(mistake.place).endswith("spec.yaml:2:13")


def test_the_hash_and_the_lock_do_not_depend_on_folders(project, tmp_path, monkeypatch):
    table(project / "points.csv")
    before = ebmkit.load_spec(project / "spec.yaml")
    project.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    after = ebmkit.load_spec("spec.yaml")
    assert before.hash == after.hash
    assert list(data_files(after)) == ["points.csv"]


def test_a_run_finds_its_file_from_every_working_directory(project, tmp_path, monkeypatch):
    table(project / "points.csv")
    record = ebmkit.run(project / "spec.yaml", runs_dir=tmp_path / "runs", report=False)
    monkeypatch.chdir("/")
    run = ebmkit.open_run(record.folder)
    assert run.plan.hash == record.plan.hash
    assert isinstance(run.plan.spec.data.path, LocatedPath)
    assert run.samples.shape == (4, 2)
    # A project that has moved is found in the working directory.
    project.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert ebmkit.open_run(record.folder).samples.shape == (4, 2)


def test_where_files_were_found_is_a_mapping_of_paths(project):
    table(project / "points.csv")
    for wrong, words in (("files: 3", "'files' is a mapping"), ("files: {points.csv: 3}", "is a path, not 3")):
        (project / "spec.yaml").write_text(f"{SPEC}{wrong}\n")
        with pytest.raises(Mistakes, match=words):
            ebmkit.load_spec(project / "spec.yaml")
