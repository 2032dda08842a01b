"""Run folders are found below a folder, however deep it is."""

import os
import subprocess
from pathlib import Path

from click.testing import CliRunner

from ebmkit.cli import group
from ebmkit.engine.folder.finding import find_runs


def test_runs_are_found_at_any_depth_and_not_inside_each_other(tmp_path):
    for name in ("a", "b/c", "b/d/e/f"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").touch()
    (tmp_path / "a" / "inside").mkdir()
    (tmp_path / "a" / "inside" / "run.json").touch()
    assert sorted(find_runs(tmp_path)) == [tmp_path / "a", tmp_path / "b" / "c", tmp_path / "b" / "d" / "e" / "f"]
    assert list(find_runs(tmp_path / "a")) == [tmp_path / "a"]
    assert list(find_runs(tmp_path / "missing")) == []


def test_links_and_deep_folders_of_others_do_no_harm(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path)
    path = str(tmp_path)
    for _ in range(1100):  # more than Python calls itself
        path += "/a"
        os.mkdir(path)  # noqa: PTH102
    (Path(path) / "run.json").touch()
    assert [str(run) for run in find_runs(tmp_path)] == [path]
    result = CliRunner().invoke(group, ["runs", str(tmp_path), "--json"])
    subprocess.run(["rm", "-rf", f"{tmp_path}/a"], check=True)  # too deep for pytest to delete
    assert result.exit_code == 0
    assert "damaged" in result.output
