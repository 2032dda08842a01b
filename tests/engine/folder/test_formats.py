"""Run folders of other formats are refused in a clear sentence by everything that opens a run."""

import json
import shutil

import pytest
from click.testing import CliRunner

import ebmkit
from ebmkit import load_spec
from ebmkit.cli import group
from ebmkit.engine import session
from ebmkit.engine.folder.run_format import FORMAT, OtherFormat
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.sampling import view_of
from ebmkit.errors.running import StorageFailed

SPEC = {"ebmkit": 1, "model": "gaussian", "sampler": {"use": "langevin", "steps": 1}, "samples": 10}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return session.run(load_spec(SPEC), runs_dir=tmp_path_factory.mktemp("runs")).folder


@pytest.fixture
def old(made, tmp_path):
    """A healthy run of the first format: no number, and sessions had another name."""
    folder = shutil.copytree(made, tmp_path / "runs" / "old")
    summary = read_summary(folder)
    del summary["format"]
    summary["sittings"] = summary.pop("sessions")
    (folder / "run.json").write_text(json.dumps(summary))
    return folder


def invoke(*words):
    return CliRunner().invoke(group, [str(word) for word in words], prog_name="ebmkit")


def refused_in_plain_words(error, folder):
    assert error.message == (
        f"{folder}: an earlier ebmkit made this run: its folder has format 1, but format {FORMAT} is expected"
    )
    assert error.help == (
        f"run its spec again with 'ebmkit run {folder / 'spec.yaml'}', or use the checkout of ebmkit that made the run"
    )


@pytest.mark.parametrize(
    "opened",
    [
        lambda folder: session.resume(load_spec(SPEC), folder),
        lambda folder: view_of(load_spec(SPEC), folder),
        lambda folder: ebmkit.open_run(folder),
        lambda folder: ebmkit.resume(folder),
        read_summary,
    ],
    ids=["session", "view", "open_run", "resume", "summary"],
)
def test_python_refuses_an_old_run(opened, old):
    before = {path.name for path in old.iterdir()}
    (old / "resolved.yaml").write_text("ebmkit: 1\nsince: renamed\n")  # an old spec need not be valid
    with pytest.raises(OtherFormat) as refused:
        opened(old)
    refused_in_plain_words(refused.value, old)
    assert {path.name for path in old.iterdir()} == before


@pytest.mark.parametrize("verb", ["resume", "report", "evaluate", "sample", "reproduce", "diff"])
def test_every_verb_refuses_an_old_run(verb, old, made):
    more = {"diff": [made], "sample": ["--out", old.parent / "x.npy"]}.get(verb, [])
    (old / "resolved.yaml").write_text("ebmkit: 1\nsince: renamed\n")
    result = invoke(verb, old, *more, "--format", "json")
    assert result.exit_code == StorageFailed.exit_status
    (error,) = json.loads(result.stdout)
    assert error["code"] == "E303"
    assert f"its folder has format 1, but format {FORMAT} is expected" in error["message"]
    assert f"ebmkit run {old / 'spec.yaml'}" in error["help"]


@pytest.mark.parametrize(("number", "status"), [(None, "old format"), (FORMAT + 1, "newer format")])
def test_runs_lists_it_with_a_status_of_its_own(number, status, old):
    summary = json.loads((old / "run.json").read_text())
    if number:
        (old / "run.json").write_text(json.dumps({**summary, "format": number}))
    (row,) = json.loads(invoke("runs", old.parent, "--json").stdout)
    assert row["status"] == status
    table = invoke("runs", old.parent).stdout
    assert status in table
    assert "damaged" not in table
    assert "spec.yaml" in table


@pytest.mark.parametrize("wrong", ["?", None, {}])
def test_a_format_that_is_no_number_is_damage(wrong, made, tmp_path):
    folder = shutil.copytree(made, tmp_path / "run")
    (folder / "run.json").write_text(json.dumps({**read_summary(made), "format": wrong}))
    with pytest.raises(StorageFailed, match="damaged") as refused:
        read_summary(folder)
    assert not isinstance(refused.value, OtherFormat)


def test_a_missing_format_is_damage(made, tmp_path):
    folder = shutil.copytree(made, tmp_path / "run")
    summary = read_summary(made)
    del summary["format"]
    (folder / "run.json").write_text(json.dumps(summary))
    with pytest.raises(StorageFailed, match="damaged: format: missing"):
        read_summary(folder)
