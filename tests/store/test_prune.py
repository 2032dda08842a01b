"""`ebmkit prune` removes what was asked for and nothing else."""

import json
from datetime import UTC, datetime

import pytest

from ebmkit.storage.run_lock import RunLock
from tests.cli.typed import ebmkit
from tests.store.made_up import made_up


@pytest.fixture
def runs(tmp_path):
    """Three finished runs, and one that diverged."""
    for number in range(3):
        made_up(tmp_path / "runs", number)
    made_up(tmp_path / "runs", 3, status="diverged")
    return tmp_path / "runs"


def left(runs):
    return sorted(int(path.name.split("-")[1]) for path in runs.glob("toy/run-*"))


def test_what_satisfies_all_conditions_is_removed(runs):
    done = ebmkit("prune", str(runs), "--where", "seed>=1", "--where", "status=finished", "--yes")
    assert left(runs) == [0, 3]
    assert "2 runs" in done.stdout
    assert "run-00001" in done.stdout


def test_it_asks_first(runs):
    assert "1 run" in ebmkit("prune", str(runs), "--where", "status=diverged", input="n\n").stdout
    assert left(runs) == [0, 1, 2, 3]
    ebmkit("prune", str(runs), "--where", "status=diverged", input="y\n")
    assert left(runs) == [0, 1, 2]


def test_a_dry_run_removes_nothing(runs):
    done = ebmkit("prune", str(runs), "--where", "status=diverged", "--dry-run", "--json")
    assert left(runs) == [0, 1, 2, 3]
    (told,) = json.loads(done.stdout)
    assert told["folder"].endswith("run-00003-00000003")
    assert told["bytes"] > 0


def test_old_runs(tmp_path):
    made_up(tmp_path, 0, started="2020-01-01T00:00:00+00:00")
    made_up(tmp_path, 1, started=datetime.now(UTC).isoformat())
    ebmkit("prune", str(tmp_path), "--older-than", "30d", "--yes")
    assert left(tmp_path) == [1]


def test_a_run_at_work_is_kept(runs):
    folder = made_up(runs, 4, status="running")
    lock = RunLock(folder)
    try:
        ebmkit("prune", str(runs), "--where", "seed=4", "--yes")
    finally:
        lock.release()
    assert folder.exists()
    ebmkit("prune", str(runs), "--where", "status=killed", "--yes")
    assert not folder.exists()


def test_a_link_in_a_run_is_removed_and_what_it_leads_to_is_not(runs, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("kept")
    (runs / "toy" / "run-00003-00000003" / "link").symlink_to(tmp_path / "precious")
    ebmkit("prune", str(runs), "--where", "status=diverged", "--yes")
    assert (tmp_path / "precious" / "file").read_text() == "kept"


def test_folders_without_runs_are_removed_too(runs):
    ebmkit("prune", str(runs), "--where", "seed>=0", "--yes")
    assert runs.is_dir()
    assert list(runs.iterdir()) == []


def test_without_a_condition_nothing_is_removed(runs):
    assert "name the runs" in ebmkit("prune", str(runs), "--yes", status=2).stderr
    assert "condition" in ebmkit("prune", str(runs), "--where", "all", "--yes", status=2).stderr
    assert left(runs) == [0, 1, 2, 3]
