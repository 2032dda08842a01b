"""A plugin's hook that fails is disabled and reported once; the run, and the hooks of others, do not notice."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from ebmkit import load_spec
from ebmkit.engine.folder.record import Record
from tests.drawn import run

from .specs import SHORT

#: The hooks of a run's life, and what each is told.
HOOKS = {
    "run_started": ("view", "folder"),
    "step_ended": ("view", "step"),
    "checkpoint_saved": ("view", "path"),
    "run_finished": ("view", "results"),
}

#: What a hook may do, and what is told of it.
MISDEEDS = {
    "raise ValueError('one\\n  two')": "ValueError: one two",
    "raise SystemExit(3)": "SystemExit: 3",
    "folder_of(pat=1)": "TypeError: folder_of() got an unexpected keyword argument 'pat'",
    "view.nothing": "AttributeError: 'RunView' object has no attribute 'nothing'",
}

CALM = """
from ebmkit.api import hookimpl

HEARD = []
""" + "".join(
    f"""
@hookimpl
def ebmkit_{hook}({", ".join(told)}):
    HEARD.append("{hook}")
"""
    for hook, told in HOOKS.items()
)


def plugin(folder: Path, name: str, code: str) -> str:
    path = folder / f"{name}.py"
    path.write_text(code)
    return str(path)


def angry(hook: str, misdeed: str) -> str:
    """A plugin with one hook, which always fails."""
    return f"""
from ebmkit.api import hookimpl

HEARD = []

def folder_of(path):
    return path.parent

@hookimpl
def ebmkit_{hook}({", ".join(HOOKS[hook])}):
    HEARD.append("{hook}")
    {misdeed}
"""


def weights(record: Record) -> dict[str, bytes]:
    """All tensors of the last checkpoint, and the samples."""
    last = sorted((record.folder / "checkpoints").glob("step-*"))[-1]
    paths = [*last.glob("*.safetensors"), *record.folder.glob("samples/*")]
    return {path.name: path.read_bytes() for path in paths}


def heard(name: str) -> list[str]:
    return sys.modules[f"ebmkit_plugin_{name}"].HEARD


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, Any]:
    """What a run leaves to which nobody listens, and what a calm listener hears."""

    folder = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr("ebmkit.report.summary.draw_summary", lambda *content: b"a picture")
        patches.setattr("ebmkit.report.page.write_report", lambda *content: "a report")
        left = weights(run(load_spec(SHORT), runs_dir=folder))
        run(load_spec(SHORT, plugins=[plugin(folder, "calm", CALM)]), runs_dir=folder)
    return {"weights": left, "heard": heard("calm")}


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("misdeed", MISDEEDS)
def test_a_hook_that_fails_is_muted(alone, tmp_path, undrawn, hook, misdeed):
    plugins = [plugin(tmp_path, "angry", angry(hook, misdeed)), plugin(tmp_path, "calm", CALM)]
    record = run(load_spec(SHORT, plugins=plugins), runs_dir=tmp_path)
    assert record.status == "finished"
    who = f"plugin 'angry' ({tmp_path / 'angry.py'})"
    warning = f"{who}: hook 'ebmkit_{hook}' raised {MISDEEDS[misdeed]}; it is disabled for the rest of the run"
    assert [said for said in record.warnings if "hook" in said] == [warning]
    assert json.loads((record.folder / "run.json").read_text())["warnings"] == record.warnings
    assert (record.folder / "log.txt").read_text().count(warning) == 1
    assert heard("angry") == [hook]
    assert heard("calm") == alone["heard"]
    assert weights(record) == alone["weights"]


def test_every_hook_was_heard(alone):
    assert set(alone["heard"]) == set(HOOKS)
    assert alone["heard"].count("step_ended") == 24


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_takes_long_is_named(tmp_path, undrawn, monkeypatch, hook):
    monkeypatch.setattr("ebmkit.registry.slow_calls.SECONDS", 0.2)
    slow = angry(hook, "if len(HEARD) == 1: __import__('time').sleep(1)")
    record = run(load_spec(SHORT, plugins=[plugin(tmp_path, "slow", slow)]), runs_dir=tmp_path)
    log = (record.folder / "log.txt").read_text()
    named = f"hook 'ebmkit_{hook}' of plugin 'slow' ({tmp_path / 'slow.py'}) has been running for "
    assert 1 <= log.count(named) <= 3  # after 0.2, 0.4 and 0.8 seconds
    assert "Ctrl-C twice ends the run" in log
    assert record.status == "finished"


PANELS = """
from ebmkit.api import Panel, hookimpl

class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("not even this")

def draw(axes, view):
    {drawing}

@hookimpl
def ebmkit_report_panels(view):
    {offering}
    return [Panel("mine", "Mine", draw)]
"""


@pytest.mark.parametrize(
    ("drawing", "offering"),
    [
        ("pass", "raise SystemExit(3)"),
        ("pass", "return 7"),
        ("raise SystemExit(3)", "pass"),
        ("raise Unprintable", "return [7, Panel(7, None, draw)]"),
        ("return 7", "pass"),
    ],
)
def test_a_panel_that_fails_does_not_cost_the_run(tmp_path, drawing, offering):
    spec = {**SHORT, "train": {"steps": 2, "batch_size": 16}, "evaluate": [], "samples_every": None}
    mine = plugin(tmp_path, "panels", PANELS.format(drawing=drawing, offering=offering))
    record = run(load_spec(spec, plugins=[mine]), runs_dir=tmp_path)
    assert record.status == "finished"
    assert record.picture.stat().st_size > 10_000
    assert "panels" in record.report.read_text() or "Mine" in record.report.read_text()
