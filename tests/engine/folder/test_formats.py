"""Run folders of other versions are refused in a clear sentence."""

import json

import pytest

from ebmkit import load_spec
from ebmkit.engine import session
from ebmkit.engine.folder.record import FORMAT, read_summary
from ebmkit.errors.running import StorageFailed

SPEC = {"ebmkit": 1, "model": "gaussian", "sampler": {"use": "langevin", "steps": 1}, "samples": 10}


def test_a_run_of_another_format_is_refused_by_name_and_not_as_damaged(tmp_path):
    plan = load_spec(SPEC)
    folder = session.run(plan, runs_dir=tmp_path).folder
    summary = read_summary(folder)
    assert summary["format"] == FORMAT
    del summary["format"]
    summary["sittings"] = summary.pop("sessions")  # as the first format had it
    (folder / "run.json").write_text(json.dumps(summary))
    with pytest.raises(StorageFailed, match="another version of ebmkit, with run folders of format 1") as refused:
        session.resume(plan, folder)
    assert "run its spec.yaml again" in refused.value.help
    (folder / "run.json").write_text(json.dumps({**summary, "format": "?"}))
    with pytest.raises(StorageFailed, match="damaged"):
        read_summary(folder)
