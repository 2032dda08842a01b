"""Plugins whose import ends, stops or delays the process: verbs that show everything name them and continue."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from ebmkit.registry import separate_process
from tests.cli.typed import ebmkit

from .plant_faults import distribution_of, namespace_of, plant, plant_healthy
from .plugin_faults import APART, SQUARE, Fault, imported

ROOT = Path(__file__).parents[2]


VERBS = ("plugins --load", "plugins", "list bregman", "show bregman healthy.square", "schema")


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, Result]:
    """What the verbs say where all of them are installed, next to a healthy one."""
    folder = tmp_path_factory.mktemp("apart")
    for kind, fault in APART.items():
        plant(folder, kind, fault)
    plant_healthy(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.delenv("EBMKIT_DISABLE_PLUGINS", raising=False)
        patch.setattr(separate_process, "LONGEST_IMPORT", 2.0)
        return {verb: ebmkit(*verb.split(), status=3 if "plugins" in verb else 0) for verb in VERBS}


def test_every_verb_that_shows_everything_works(said):
    assert "healthy.square" in said["list bregman"].stdout
    assert "psi(u) = u^2" in said["show bregman healthy.square"].stdout
    assert "healthy.square" in said["schema"].stdout
    assert "healthy  ebmkit-healthy 1.0  loaded" in said["plugins --load"].stdout


@pytest.mark.parametrize("kind", APART)
def test_one_line_names_the_distribution_and_the_reason(said, kind):
    for text in (said["plugins"].stdout, said["plugins --load"].stdout, said["list bregman"].stderr):
        (line,) = [line for line in text.splitlines() if distribution_of(kind) in line]
        assert APART[kind].reason in line


def test_an_endless_loop_is_shown_with_its_line(said):
    (line,) = [line for line in said["plugins"].stdout.splitlines() if "endless_loop" in line]
    assert re.search(r"module_f_an_endless_loop\.py, line 1\)", line)


def test_a_crash_in_the_middle_does_not_hide_the_next(tmp_path, monkeypatch):
    """Of three plugins, each ended its process: one answer for each."""
    monkeypatch.syspath_prepend(tmp_path)
    for kind in ("one", "two", "three"):
        plant(tmp_path, kind, APART["os._exit without its name"])
    found = separate_process.imported_apart([namespace_of(kind) for kind in ("one", "two", "three")])
    assert [each.reason for each in found.values()] == ["importing it ended the process with exit status 7"] * 3


def test_a_process_that_cannot_start_is_a_reason_and_no_loop(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    (known,) = separate_process.imported_apart(["alpha"]).values()
    assert "no process could be started" in known.reason


def test_a_slow_import_is_mentioned(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("ebmkit.cli.plugins.SLOW_IMPORT", 0.2)
    plant(tmp_path, "slow", Fault(imported("import time\ntime.sleep(0.3)")))
    rows = json.loads(ebmkit("plugins", "--load", "--json").stdout)
    (row,) = [row for row in rows if row["namespace"] == "f_slow"]
    assert row["seconds"] >= 0.3
    (line,) = [line for line in ebmkit("plugins", "--load").stdout.splitlines() if line.startswith("f_slow")]
    assert re.search(r"importing it takes \d\.\d s$", line)


ENDLESS = """
import sys
from ebmkit.registry import slow_calls
slow_calls.SECONDS = 0.2
from ebmkit.cli import main
sys.argv = ["ebmkit", "validate", "spec.yaml"]
main()
"""


def test_a_spec_that_names_a_plugin_without_end_says_what_it_waits_for(tmp_path):
    code = imported("import time, _thread\nfor _ in range(100):\n    time.sleep(0.02)\nraise OSError('at last')")
    plant(tmp_path, "without end", Fault(code))
    (tmp_path / "spec.yaml").write_text(Fault(SQUARE).spec.replace("NAMESPACE", "f_without_end"))
    environment = {"PYTHONPATH": f"{ROOT}:{tmp_path}", "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert done.returncode == 3
    first = done.stderr.splitlines()[0]
    assert first.startswith("importing plugin 'f_without_end' (ebmkit-f-without-end) has been running for ")
    assert first.endswith("Ctrl-C ends ebmkit")
