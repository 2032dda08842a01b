"""What `run.json` may say, and a clock that is set while a run lasts."""

import json
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

import ebmkit
from ebmkit import load_spec
from ebmkit.cli import group
from ebmkit.engine import session
from ebmkit.engine.folder import record
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.errors.running import StorageFailed

SPEC = {"ebmkit": 1, "model": "gaussian", "sampler": {"use": "langevin", "steps": 1}, "samples": 10}


class Backwards(datetime):
    """A clock that is set back by an hour whenever it is read."""

    read = 0

    @classmethod
    def now(cls, tz=None):
        cls.read += 1
        return datetime(2026, 1, 1, tzinfo=UTC) - cls.read * timedelta(hours=1)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return session.run(load_spec(SPEC), runs_dir=tmp_path_factory.mktemp("runs")).folder


def test_a_clock_that_is_set_back_gives_no_negative_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "datetime", Backwards)
    made = session.run(load_spec(SPEC), runs_dir=tmp_path)
    assert Backwards.read > 1
    summary = read_summary(made.folder)
    assert summary["seconds"] > 0
    assert all(sitting["seconds"] > 0 for sitting in summary["sessions"])


def test_a_run_of_the_future_has_no_negative_age(made, tmp_path):
    damage(made, tmp_path, started=(datetime.now(UTC) + timedelta(days=3)).isoformat())
    result = CliRunner().invoke(group, ["runs", str(tmp_path)])
    assert result.exit_code == 0
    assert " 0 s\n" in result.output


def damage(made, tmp_path, **changes):
    folder = shutil.copytree(made, tmp_path / "run")
    (folder / "run.json").write_text(json.dumps({**read_summary(made), **changes}))
    return folder


SITTING = {"started": "2026-01-01"}
WRONG = [
    {"started": "yesterday"},
    {"started": ""},
    {"started": "9999-12-31T23:59:59-23:59"},
    {"seconds": float("nan")},
    {"seconds": float("inf")},
    {"seconds": True},
    {"results": {"fid": "low"}},
    {"results": {"fid": None}},
    {"results": {"fid": [1]}},
    {"results": {"fid": float("inf")}},
    {"results": {"fid": 10**400}},
    {"warnings": [1]},
    {"unmet": [{}]},
    {"sessions": [1]},
    {"sessions": [{}]},
    {"sessions": [{**SITTING, "seconds": "1"}]},
    {"sessions": [{**SITTING, "seconds": None}]},
    {"sessions": [{**SITTING, "command": [1]}]},
    {"sessions": [{**SITTING, "command": 1}]},
    {"sessions": [{**SITTING, "drift": {"a": 1}, "from_step": []}]},
    {"sessions": [{**SITTING, "unknown": 1}]},
    {"sessions": [{"started": 1}]},
    {"name": None},
    {"step": "3"},
    {"status": []},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_value_is_damage_to_every_reader(wrong, made, tmp_path):
    folder = damage(made, tmp_path, **wrong)
    for opened in (ebmkit.open_run, read_summary):
        with pytest.raises(StorageFailed, match="damaged: "):
            opened(folder)
    for words in (["runs", tmp_path], ["runs", tmp_path, "--json"]):
        result = CliRunner().invoke(group, [str(word) for word in words])
        assert result.exit_code == 0, result.exception
        assert "damaged" in result.output


@pytest.mark.parametrize("started", ["2026-01-01", "2026-01-01T10:00:00", "2026-01-01T10:00:00+05:00"])
def test_a_date_without_a_time_or_zone_is_understood(started, made, tmp_path):
    damage(made, tmp_path, started=started)
    assert CliRunner().invoke(group, ["runs", str(tmp_path)]).exit_code == 0


@pytest.mark.parametrize("name", ["", "missing", "a\0b", "x" * 300, "x/" * 3000, "loop", "file", "\udce9"])
def test_a_name_that_is_no_run_is_an_error_of_ebmkit(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    for opened in (ebmkit.open_run, ebmkit.resume):
        with pytest.raises(StorageFailed):
            opened(name)
