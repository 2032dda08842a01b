"""`ebmkit sample RUN --more N`: the run that had asked for all samples from the beginning, bit for bit."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from ebmkit import load_spec, open_run
from ebmkit.cli import group
from ebmkit.engine.session import run
from ebmkit.engine.signals import Interrupted
from ebmkit.engine.telling.progress import Silent
from ebmkit.errors.running import StorageFailed
from tests.faults.remains import different, remains
from tests.faults.test_long_chains import CHAINS, TRAINED, flip, sampler_plan

#: What names the number of samples, or its hash.
NAMING = {"spec.yaml", "resolved.yaml", "resolved.json", "run.json"}


class InterruptsSampling(Silent):
    """Ctrl-C as soon as the chains begin."""

    def follow(self, what, steps, position):
        if what == "sampling":
            os.kill(os.getpid(), signal.SIGINT)


def more(folder: Path, n: int, runs: Path, *words: str, status: int = 0):
    arguments = ["sample", str(folder), "--more", str(n), "--runs-dir", str(runs), "--no-report", "--quiet", *words]
    ended = CliRunner().invoke(group, arguments)
    assert ended.exit_code == status, ended.output
    return Path(ended.stdout.strip()) if status == 0 else ended


def same(one: Path, other: Path) -> list[str]:
    """What differs, except for names: manifests have the hash of the plan, which another source does not change."""
    return [name for name in different(remains(one), remains(other)) if name not in NAMING]


@pytest.mark.parametrize("name", ["nuts", "exact"])
def test_it_is_the_run_that_had_asked_for_all(name, tmp_path):
    plan, dice = sampler_plan(name), random.Random(name)
    first, extra = plan.spec.samples, dice.randrange(1, 100)
    whole = load_spec({**plan.tree.plain(), "samples": first + extra})
    expected = run(whole, runs_dir=tmp_path / "whole").folder
    base = run(plan, runs_dir=tmp_path / "base").folder
    before = remains(base)
    found = more(base, extra, tmp_path / "more")
    assert same(found, expected) == []
    assert json.loads((found / "run.json").read_text())["extends"] == str(base)
    assert remains(base) == before
    results = [json.loads((folder / "run.json").read_text())["results"] for folder in (found, expected)]
    assert results[0] == results[1]


def test_once_more_and_by_too_few_for_another_draw(tmp_path):
    """Every chain keeps a share that is rounded up: 121 to 124 samples are 31 draws of each of four chains."""
    folder = run(load_spec({**CHAINS, "samples": 121}), runs_dir=tmp_path / "base").folder
    for n in (3, 50):
        folder = more(folder, n, tmp_path / str(n))
    expected = run(load_spec({**CHAINS, "samples": 174}), runs_dir=tmp_path / "whole").folder
    assert same(folder, expected) == []


def test_a_trained_model_is_not_trained_again(tmp_path):
    spec = {**CHAINS, **TRAINED, "evaluate": ["mmd", "ess"], "samples_every": None}
    base = run(load_spec(spec), runs_dir=tmp_path / "base").folder
    found = more(base, 60, tmp_path / "more")
    assert "step 6/6" in (base / "log.txt").read_text()
    assert "step 6/6" not in (found / "log.txt").read_text()
    expected = run(load_spec({**spec, "samples": 180}), runs_dir=tmp_path / "whole").folder
    assert same(found, expected) == []
    plans = [load_spec(folder / "resolved.yaml") for folder in (found, expected)]
    assert [plan.spec.evaluate[0].samples for plan in plans] == [180, 180]  # not the 120 of the first run
    assert plans[0].hash == plans[1].hash
    results = [json.loads((folder / "run.json").read_text())["results"] for folder in (found, expected)]
    assert results[0] == results[1]


def test_without_a_usable_checkpoint_the_chains_start_again(tmp_path):
    base = run(load_spec(CHAINS), runs_dir=tmp_path / "base").folder
    (saved,) = (base / "chains").glob("step-*")
    flip(saved / "state.json", 30)
    found = more(base, 60, tmp_path / "more")
    assert "has no checkpoint of its chains, so they start from the beginning" in (found / "log.txt").read_text()
    assert same(found, run(load_spec({**CHAINS, "samples": 180}), runs_dir=tmp_path / "whole").folder) == []


SELDOM = '''
from typing import Any, NamedTuple
from ebmkit.api import Sampler, StepInfo, component, torch

class Place(NamedTuple):
    x: Any
    time: Any

@component("walk")
class Walk(Sampler):
    """A walk that reports an acceptance at every second step."""

    needs = frozenset({"energy"})
    traces = frozenset()
    steps: int = 1

    def init(self, energy, x, rng):
        return Place(x, 0)

    def step(self, energy, state, rng):
        x = state.x + torch.empty_like(state.x).normal_(generator=rng)
        report = StepInfo(acceptance=torch.ones(len(x))) if state.time % 2 else StepInfo()
        return Place(x, state.time + 1), report
'''


@pytest.mark.parametrize("every", [10, 7])  # the last of 30 steps is saved before the chains are over, or only then
def test_what_is_not_reported_at_every_step_does_not_spoil_the_checkpoint(every, tmp_path):
    (tmp_path / "seldom.py").write_text(SELDOM)
    plugin = str(tmp_path / "seldom.py")
    spec = {**CHAINS, "sampler": "seldom.walk", "chains": {"count": 4}, "checkpoint": {"every": every}, "evaluate": []}
    base = run(load_spec(spec, plugins=[plugin]), runs_dir=tmp_path / "base").folder
    assert not (base / "chains/acceptance.safetensors").exists()
    found = more(base, 60, tmp_path / "more", "--plugin", plugin)
    assert "start from the beginning" not in (found / "log.txt").read_text()
    whole = run(load_spec({**spec, "samples": 180}, plugins=[plugin]), runs_dir=tmp_path / "whole").folder
    assert same(found, whole) == []


def test_what_is_refused(tmp_path):
    base = run(load_spec(CHAINS), runs_dir=tmp_path / "base").folder
    for words, why in (
        (["--seed", "0"], "--more and --seed cannot be combined"),
        (["--set", "samples=7"], "--more and --set cannot be combined"),
        (["--out", "x.npy"], "--more and --out cannot be combined"),
    ):
        assert why in more(base, 5, tmp_path / "no", *words, status=2).stderr
    other = base.with_name("other")
    shutil.copytree(base, other)
    lock = (other / "lock.yaml").read_text()
    (other / "lock.yaml").write_text(lock.replace("threads: 1", "threads: 7"))
    assert "started under different conditions: " in more(other, 5, tmp_path / "no", status=3).stderr
    assert (more(other, 5, tmp_path / "yes", "--allow-drift") / "chains").is_dir()
    summary = json.loads((base / "run.json").read_text())
    (base / "run.json").write_text(json.dumps({**summary, "status": "interrupted"}))
    assert (
        f"is interrupted, not finished: first 'ebmkit resume {base}'" in more(base, 5, tmp_path / "no", status=2).stderr
    )
    ends = {**CHAINS, "chains": None, "sampler": {"use": "hmc", "steps": 2}, "evaluate": []}
    apart = run(load_spec(ends), runs_dir=tmp_path / "ends").folder
    assert "has no 'chains:', so every sample is the end" in more(apart, 5, tmp_path / "no", status=2).stderr
    refused = CliRunner().invoke(group, ["sample", "sampling", "--more", "5"])
    assert "--more continues the chains of a run, but sampling is a spec" in refused.stderr
    assert not (tmp_path / "no").exists()


def test_incomplete_chains_are_not_run_again_to_be_shown(tmp_path):
    """A report or an export would take as long as the run, and keep nothing of it."""
    with pytest.raises(Interrupted):
        run(load_spec({**CHAINS, "sampler": "hmc"}), runs_dir=tmp_path, progress=InterruptsSampling())
    (folder,) = tmp_path.glob("*/*/")
    with pytest.raises(StorageFailed, match=r"chains are not complete; 'ebmkit resume .*' continues them"):
        _ = open_run(folder).samples
    words = ["sample", str(folder), "--out", str(tmp_path / "draws.npy")]
    assert "chains are not complete" in CliRunner().invoke(group, words).output
    ended = CliRunner().invoke(group, ["report", str(folder)])
    assert ended.exit_code == 0
    assert "chains are not complete" in (folder / "report.html").read_text(encoding="utf-8")
    assert len(open_run(folder).sample(8)) == 8  # new ones


def test_a_report_of_an_earlier_session_does_not_stay(tmp_path):
    with pytest.raises(Interrupted):
        run(load_spec({**CHAINS, "sampler": "hmc"}), runs_dir=tmp_path, progress=InterruptsSampling())
    (folder,) = tmp_path.glob("*/*/")
    CliRunner().invoke(group, ["report", str(folder)])
    assert (folder / "report.html").is_file()
    assert CliRunner().invoke(group, ["resume", str(folder), "--no-report"]).exit_code == 0
    assert not (folder / "report.html").exists()
    assert not (folder / "plots/summary.png").exists()
