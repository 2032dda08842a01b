"""A run that was killed, at any moment, ends where the undisturbed one ends, to the last bit."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from .nursery import Nursery
from .remains import different, remains
from .specs import DEEP, LONG, PARTS, SHORT


@dataclass(frozen=True)
class Undisturbed:
    """A run that nobody killed."""

    spec: Path
    remains: dict[str, bytes]
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(nursery, written, tmp_path_factory) -> dict[str, Undisturbed]:
    """One of each spec, by name."""
    found = {}
    for spec in (SHORT, LONG, PARTS, DEEP):
        path, runs = written(spec), tmp_path_factory.mktemp("undisturbed")
        life = nursery.live("run", path, "--runs-dir", runs, "--quiet")
        assert life.status == 0, life.said
        found[spec["name"]] = Undisturbed(path, remains(sole(runs)), life.seconds)
    return found


def sole(runs: Path) -> Path:
    """The one run in a folder of runs."""
    (run,) = runs.glob("*/*/")
    return run


def torment(nursery: Nursery, model: Undisturbed, runs: Path, dice: random.Random) -> Counter[str]:
    """Kill a run at a random moment, and perhaps again while it is resumed, and perhaps again; then let it end."""
    life = nursery.live("run", model.spec, "--runs-dir", runs, signal_after=dice.uniform(0, model.seconds))
    if not any(runs.glob("*/*/run.json")):
        assert life.killed
        return Counter(early=1)  # nothing was promised yet
    run, deaths = sole(runs), int(life.killed)
    for _ in range(dice.choice([0, 0, 1, 2])):
        deaths += nursery.live("resume", run, signal_after=dice.uniform(0, model.seconds)).killed
    life = nursery.live("resume", run)
    assert life.status == 0, life.said
    assert different(remains(run), model.remains) == [], f"after {deaths} deaths, in {run}"
    return Counter(deaths=deaths, runs=1)


def torment_many(nursery: Nursery, undisturbed: dict[str, Undisturbed], runs: Path, deaths: int, seed: int) -> None:
    dice, seen = random.Random(seed), Counter[str]()
    for number in range(10 * deaths):
        if seen["deaths"] >= deaths:
            break
        seen += torment(nursery, undisturbed["long" if number % 4 == 3 else "short"], runs / str(number), dice)
    print(f"{seen['deaths']} deaths of {seen['runs']} runs, beside {seen['early']} before there was a run")
    assert seen["deaths"] >= deaths


def test_ten_kills_at_random_moments(nursery, undisturbed, tmp_path):
    torment_many(nursery, undisturbed, tmp_path, 10, seed=1)


@pytest.mark.long
def test_two_hundred_kills_at_random_moments(nursery, undisturbed, tmp_path):
    torment_many(nursery, undisturbed, tmp_path, 200, seed=2)


#: A moment, and the file, with the text in it, by which one sees that it has come.
MOMENTS = {
    "the first line of the log": ("*/*/log.txt", "model"),
    "the first save": ("*/*/checkpoints/.step-000003.*/model.safetensors", ""),
    "the last file of a save": ("*/*/checkpoints/.step-000012.*/manifest.json", ""),
    "the deletion of an old checkpoint": ("*/*/checkpoints/.step-*.deleted", ""),
    "an evaluation": ("*/*/samples/step-000004.safetensors", ""),
    "the change of stages": ("*/*/metrics.jsonl", '"step": 13,'),
    "the last save": ("*/*/checkpoints/.step-000024.*", ""),
    "sampling": ("*/*/log.txt", "sampling and evaluating"),
    "drawing": ("*/*/log.txt", "writing the report"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_in(moment, nursery, undisturbed, tmp_path):
    model = undisturbed["short"]
    for attempt in range(20):  # a moment may be too short to be seen
        runs = tmp_path / str(attempt)
        if nursery.live("run", model.spec, "--runs-dir", runs, signal_when=(runs, *MOMENTS[moment])).killed:
            break
    life = nursery.live("resume", sole(runs))
    assert life.status == 0, life.said
    assert different(remains(sole(runs)), model.remains) == []
    assert attempt < 19


#: The steps of a save in each stage, and of the last before and the first after a change of stages.
@pytest.mark.parametrize(
    "step", [6, 18, 27, *(pytest.param(step, marks=pytest.mark.long) for step in (9, 12, 21, 24, 30, 36))]
)
def test_a_kill_in_each_stage_that_owns_its_part_or_its_objective(step, nursery, undisturbed, tmp_path):
    model, moment = undisturbed["parts"], (f"*/*/checkpoints/step-{step:06d}/manifest.json", "")
    assert nursery.live("run", model.spec, "--runs-dir", tmp_path, signal_when=(tmp_path, *moment)).killed
    life = nursery.live("resume", sole(tmp_path))
    assert life.status == 0, life.said
    assert different(remains(sole(tmp_path)), model.remains) == []


#: A save in each part, and two in the stages that train the whole.
@pytest.mark.parametrize("step", [6, *(pytest.param(step, marks=pytest.mark.long) for step in (15, 21, 27)), 36])
def test_a_kill_in_each_stage_of_a_deep_machine(step, nursery, undisturbed, tmp_path):
    model, moment = undisturbed["deep"], (f"*/*/checkpoints/step-{step:06d}/manifest.json", "")
    assert nursery.live("run", model.spec, "--runs-dir", tmp_path, signal_when=(tmp_path, *moment)).killed
    life = nursery.live("resume", sole(tmp_path))
    assert life.status == 0, life.said
    assert different(remains(sole(tmp_path)), model.remains) == []


@pytest.mark.long
@pytest.mark.parametrize("name", ["parts", "deep"])
def test_thirty_kills_at_random_moments_of_stages_that_own_their_part(name, nursery, undisturbed, tmp_path):
    dice, seen = random.Random(3), Counter[str]()
    for number in range(300):
        if seen["deaths"] >= 30:
            break
        seen += torment(nursery, undisturbed[name], tmp_path / str(number), dice)
    print(f"{seen['deaths']} deaths of {seen['runs']} runs, beside {seen['early']} before there was a run")
    assert seen["deaths"] >= 30


@pytest.mark.long
def test_a_kill_of_the_pictures(nursery, undisturbed, tmp_path):
    """With drawing as it is, and so with the real report; the picture has the same bits too."""
    spec = undisturbed["short"].spec
    drawn = nursery.live("run", spec, "--runs-dir", tmp_path / "whole", draw=True)
    assert drawn.status == 0, drawn.said
    runs = tmp_path / "killed"
    for when in (("*/*/log.txt", "writing the report"), ("*/*/plots/summary.png", "")):
        arguments = ("resume", sole(runs)) if runs.exists() else ("run", spec, "--runs-dir", runs)
        assert nursery.live(*arguments, signal_when=(runs, *when), draw=True).killed
    assert nursery.live("resume", sole(runs), draw=True).status == 0
    assert different(remains(sole(runs)), remains(sole(tmp_path / "whole"))) == []


@pytest.mark.long
def test_a_real_process_killed_while_it_imports_leaves_nothing_and_later_a_run_that_goes_on(undisturbed, tmp_path):
    """Nothing is forked here: what a user types, from a cold start."""
    command, spec = [sys.executable, "-m", "ebmkit"], undisturbed["short"].spec
    process = subprocess.Popen([*command, "run", spec, "--runs-dir", tmp_path / "early"])
    time.sleep(0.3)
    process.kill()
    process.wait()
    assert not (tmp_path / "early").exists()

    process = subprocess.Popen([*command, "run", spec, "--runs-dir", tmp_path], stdout=subprocess.DEVNULL)
    while not any(tmp_path.glob("*/*/checkpoints/step-000009")) and process.poll() is None:
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -9
    run = sole(tmp_path)
    again = subprocess.run([*command, "resume", run, "--quiet"], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert again.stdout.strip() == str(run)
    found, expected = remains(run), undisturbed["short"].remains
    assert different(found, expected) == ["plots/summary.png"]  # this one was drawn
