"""Long chains that are stopped anywhere, in the warm-up, in the burn-in or between two draws, end where those end that
nothing stopped: every file of the run, to the last bit."""

from __future__ import annotations

import errno
import json
import random
import re
import shutil
import signal
from collections import Counter
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from ebmkit import load_spec
from ebmkit.engine.folder import checkpoint
from ebmkit.engine.folder.chain_checkpoints import ChainCheckpoints, Source
from ebmkit.engine.folder.checkpoint import Saved
from ebmkit.engine.limit import Limit, Paused
from ebmkit.engine.rng import Streams
from ebmkit.engine.session import resume, run
from ebmkit.errors import Mistakes
from ebmkit.errors.running import StorageFailed
from ebmkit.registry.builtin import COMPONENTS
from ebmkit.storage import columns

from .refusals import Operation, Refusals
from .remains import different, remains

#: 40 steps of warm-up, 11 of burn-in, and three to each of 30 draws. Every seventh step is saved.
CHAINS: dict[str, Any] = {
    "ebmkit": 1,
    "name": "chains",
    "seed": 3,
    "device": "cpu",
    "model": {"use": "gaussian", "mean": [0.0, 1.0, 2.0], "covariance": [1.0, 4.0, 0.1]},
    "sampler": {"use": "hmc", "leapfrog_steps": 3},
    "chains": {"count": 4, "warmup": 40, "burn_in": 11, "thin": 3},
    "samples": 120,
    "evaluate": ["ess", "rhat", {"use": "moments", "samples": 50}],
    "checkpoint": {"every": 7},
}
STEPS = 40 + 11 + 3 * 30

DISCRETE = {"model": {"use": "boltzmann", "shape": [3], "biases": [0.1, -0.2, 0.3]}}
TRAINED = {
    "data": {"use": "two_moons", "size": 200, "test_size": 100},
    "model": {"use": "mlp", "hidden": [8]},
    "objective": {"use": "nce"},
    "train": {"steps": 6, "batch_size": 16},
    "init": "data",
}
PLAIN = {"count": 4, "burn_in": 11, "thin": 3}
#: What each sampler runs on, if it is not a Gaussian with a warm-up.
SETTINGS: dict[str, dict[str, Any]] = {
    "gibbs": {**DISCRETE, "chains": PLAIN},
    "gibbs_with_gradients": {**DISCRETE, "chains": PLAIN},
    "parallel_tempering": {
        "chains": PLAIN,
        "sampler": {"use": "parallel_tempering", "sampler": {"use": "mala", "steps": 3}, "temperatures": [1, 3]},
    },
}


class After(Limit):
    """A session that ends after this many steps of its chains."""

    def __init__(self, chain_steps: int) -> None:
        super().__init__()
        self.chain_steps = chain_steps

    def raise_if_late(self) -> None:
        self.chain_steps -= 1
        if self.chain_steps == 0:
            raise Paused("enough")


def plan_of(**changes: Any) -> Any:
    return load_spec({**CHAINS, **changes})


def sampler_plan(name: str) -> Any:
    for chains in (CHAINS["chains"], PLAIN):
        try:
            return plan_of(**{"sampler": name, "chains": chains, "checkpoint": {}, **SETTINGS.get(name, {})})
        except Mistakes as mistakes:
            reason = str(mistakes)
    return pytest.skip(reason)


#: The law of samplers stops each of them at every step; whole runs take longer.
QUICK = ("nuts", "parallel_tempering", "gibbs")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.long) for name in COMPONENTS["sampler"][1].split()],
)
def test_chains_of_every_sampler_continue(name, tmp_path):
    plan, dice = sampler_plan(name), random.Random(name)
    expected = remains(run(plan, runs_dir=tmp_path / "whole").folder)
    length = plan.spec.chains.length(plan.spec.sampler, plan.spec.samples)
    folder = run(plan, runs_dir=tmp_path / "left", limit=After(dice.randrange(1, length // 2))).folder
    resume(plan, folder, limit=After(dice.randrange(1, length // 2)))
    assert resume(plan, folder).status == "finished"
    assert different(remains(folder), expected) == []


@pytest.mark.parametrize("thin", [pytest.param(1, marks=pytest.mark.long), 3])
def test_chains_of_a_trained_model_continue(thin, tmp_path):
    plan = plan_of(**TRAINED, chains={**CHAINS["chains"], "thin": thin}, evaluate=[{"use": "mmd", "samples": 50}])
    expected = remains(run(plan, runs_dir=tmp_path / "whole").folder)
    folder = run(plan, runs_dir=tmp_path / "left", limit=After(70)).folder
    said = (folder / "log.txt").read_text()
    assert re.search(r"enough; saved after \d+ of 120 draws; to continue:", said)
    assert resume(plan, folder).status == "finished"
    assert different(remains(folder), expected) == []


@pytest.fixture(scope="module")
def spec(written) -> Path:
    path: Path = written(CHAINS)
    return path


@pytest.fixture(scope="module")
def plan(spec) -> Any:
    return load_spec(spec)


@pytest.fixture(scope="module")
def whole(plan, tmp_path_factory) -> dict[str, bytes]:
    """What a run leaves that nothing stopped."""
    return remains(run(plan, runs_dir=tmp_path_factory.mktemp("whole")).folder)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (3, "saved in the warm-up, after 3 of 51 steps before the first draw"),
        (45, "saved in the burn-in, after 45 of 51 steps before the first draw"),
        (83, "saved after 40 of 120 draws"),
        (STEPS, "saved after 120 of 120 draws"),
    ],
)
def test_what_is_saved_is_said(step, words, plan, whole, tmp_path):
    folder = run(plan, runs_dir=tmp_path, limit=After(step)).folder
    assert f"enough; {words}; to continue:  ebmkit resume" in (folder / "log.txt").read_text()
    resume(plan, folder)
    assert different(remains(folder), whole) == []


def test_the_mark_of_complete_files_is_gone_while_they_are_not(plan, whole, tmp_path):
    folder = run(plan, runs_dir=tmp_path).folder
    shutil.rmtree(max((folder / "chains").glob("step-*")))
    resume(plan, folder, limit=After(100))
    assert not (folder / "chains/tuning.safetensors").exists()
    resume(plan, folder)
    assert different(remains(folder), whole) == []


def test_a_checkpoint_that_does_not_fit_leaves_the_random_stream_as_it_was(plan, tmp_path):
    folder = run(plan, runs_dir=tmp_path, limit=After(100)).folder
    streams = Streams(plan.spec.seed, torch.device("cpu"))
    checkpoints = ChainCheckpoints(Source(folder, None), folder, plan, streams, print, print, lambda: None)
    stream = streams.ongoing("torch")
    before = stream.get_state()
    saved = checkpoint.read(max((folder / "chains").glob("step-*")), None)
    other = torch.Generator().manual_seed(17).get_state()
    saved.tensors["random"]["torch"] = other

    class Refusing:
        def restore(self, steps: int, saved: Any) -> None:
            raise ValueError("no")

    with pytest.raises(StorageFailed, match="no"):
        checkpoints._restore(Refusing(), saved)  # type: ignore[arg-type]
    assert stream.get_state().equal(before)


def test_blocks_may_have_any_length(plan, whole, tmp_path, monkeypatch):
    """A block of 100 bytes is written with every third draw, and may be longer than what a checkpoint holds."""
    monkeypatch.setattr(columns, "BLOCK", 100)
    folder = run(plan, runs_dir=tmp_path, limit=After(100)).folder
    resume(plan, folder)
    assert different(remains(folder), whole) == []


# Damage ---------------------------------------------------------------------------------------------------------------


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


#: File, what happens to it, and whether the chains still continue from some checkpoint.
DAMAGE: dict[str, tuple[Any, bool]] = {
    "the end of the draws": (lambda chains: flip(chains / "x.safetensors", -1), True),
    "the first draw": (lambda chains: flip(chains / "x.safetensors", columns.ROOM), False),
    "a file that ends too early": (lambda chains: (chains / "energy.safetensors").write_bytes(b"short"), False),
    "a file that is missing": (lambda chains: (chains / "acceptance.safetensors").unlink(), False),
    "the last manifest": (lambda chains: flip(max(chains.glob("step-*")) / "manifest.json", 100), True),
    "the last state": (lambda chains: flip(max(chains.glob("step-*")) / "chains.safetensors", -1), True),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_noticed_and_costs_only_time(what, plan, whole, tmp_path):
    damage, continues = DAMAGE[what]
    folder = run(plan, runs_dir=tmp_path, limit=After(100)).folder
    assert [path.name for path in sorted((folder / "chains").glob("step-*"))] == ["step-000098", "step-000100"]
    damage(folder / "chains")
    steps: list[int] = []
    resume(plan, folder, limit=Counting(steps))
    assert "the chains go back to an earlier checkpoint or restart" in (folder / "log.txt").read_text()
    assert (len(steps) < STEPS) == continues
    assert different(remains(folder), whole) == []


#: Places in the JSON of a checkpoint, and what an attacker may write there, with a manifest that is right.
ODD_PLACES = [("state",), ("state", "state.x"), ("state", "average.time"), ("kept",), ("evaluations",), ("columns",)]
ODD_PLACES += [("columns", "x"), ("columns", "x", "rows"), ("columns", "x", "shape"), ("columns", "x", "dtype")]
ODD_PLACES += [("training_step",), ("state", "state.x", "layout"), ("reports_energy",)]
ODD_VALUES = [None, -1, 10**30, "x", [], {}, [[]], {"layout": {}}, {"layout": [3]}, {"float": 3}, {"../x": {"rows": 1}}]


def attack(plan: Any, folder: Path, place: tuple[str, ...], value: Any) -> None:
    """Replace a value of the last checkpoint; the chains still continue, or restart."""
    last = max((folder / "chains").glob("step-*"))
    saved = checkpoint.read(last, None)
    values = deepcopy(saved.values)
    inner = values
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    shutil.rmtree(last)
    checkpoint.save(folder / "chains", plan.hash, Saved(saved.step, saved.tensors, values))
    before = {path.name for path in folder.parent.iterdir()}
    resume(plan, folder, limit=After(1))
    assert {path.name for path in folder.parent.iterdir()} == before


def attacks(plan: Any, folder: Path, every: int) -> int:
    whole = folder.with_name("kept")
    shutil.copytree(folder, whole)
    pairs = list(product(ODD_PLACES, ODD_VALUES))[::every]
    for place, value in pairs:
        shutil.rmtree(folder)
        shutil.copytree(whole, folder)
        try:
            attack(plan, folder, place, value)
        except BaseException as error:
            error.add_note(f"{place}: {value!r}")
            raise
    return len(pairs)


def test_odd_values_in_a_checkpoint_break_nothing(plan, tmp_path):
    assert attacks(plan, run(plan, runs_dir=tmp_path, limit=After(100)).folder, every=48) == 3


@pytest.mark.long
def test_all_odd_values_in_a_checkpoint_break_nothing(plan, tmp_path):
    assert attacks(plan, run(plan, runs_dir=tmp_path, limit=After(100)).folder, every=1) == 143


class Counting(Limit):
    """Counts the steps of chains."""

    def __init__(self, steps: list[int]) -> None:
        super().__init__()
        self.steps = steps

    def raise_if_late(self) -> None:
        self.steps.append(1)


def test_what_a_killed_process_wrote_after_its_last_checkpoint_is_not_trusted(plan, whole, tmp_path):
    folder = run(plan, runs_dir=tmp_path, limit=After(100)).folder
    for name in ("x", "energy", "acceptance", "divergence"):
        with (folder / "chains" / f"{name}.safetensors").open("ab") as file:
            file.write(b"half a row")
    resume(plan, folder)
    assert "the chains go back" not in (folder / "log.txt").read_text()
    assert different(remains(folder), whole) == []


@pytest.fixture(scope="module")
def operations(plan, tmp_path_factory) -> list[Operation]:
    """What a run does to files."""
    runs = tmp_path_factory.mktemp("operations")
    with Refusals(runs) as refusals:
        run(plan, runs_dir=runs)
    return refusals.seen


@pytest.mark.parametrize(
    ("what", "name", "number"),
    [
        ("write", "chains/x.safetensors", errno.ENOSPC),
        ("fsync", "chains/energy.safetensors", errno.EIO),
        ("open", "chains/acceptance.safetensors", errno.EACCES),
        ("write", "chains/step-000084/state.json", errno.ENOSPC),
        ("rename", "chains/step-000091", errno.EIO),
        ("write", "chains/tuning.safetensors", errno.ENOSPC),
    ],
)
def test_a_disk_that_refuses_costs_only_time(what, name, number, plan, whole, operations, tmp_path):
    found = [at for at, each in enumerate(operations) if (each.what, each.name) == (what, name)]
    at = found[len(found) // 2]
    with Refusals(tmp_path, at, number), pytest.raises(StorageFailed, match=Path(name).name):
        run(plan, runs_dir=tmp_path)
    (folder,) = tmp_path.glob("*/*/")
    assert json.loads((folder / "run.json").read_text())["status"] == "failed"
    resume(plan, folder)
    assert different(remains(folder), whole) == []


ODD = '''
from typing import Any, NamedTuple
from ebmkit.api import Sampler, StepInfo, component, torch

class Odd(NamedTuple):
    x: Any
    clock: Any

class Clock:
    """A part of a state that no file holds."""
    time = 0

@component("walk")
class Walk(Sampler):
    """A walk whose steps depend on what it counts in an object of its own."""

    needs = frozenset({"energy"})
    traces = frozenset()
    steps: int = 1

    def init(self, energy, x, rng):
        return Odd(x, Clock())

    def step(self, energy, state, rng):
        state.clock.time += 1
        noise = torch.empty_like(state.x).normal_(generator=rng) / state.clock.time
        return Odd(state.x + noise, state.clock), StepInfo()
'''


#: Its state becomes longer with time.
GROWING = ODD.replace("Clock())", "())").replace(
    "        state.clock.time += 1\n", "        state = Odd(state.x, (*state.clock, 1))\n"
)
GROWING = GROWING.replace("state.clock.time", "len(state.clock)")


def test_a_state_that_grows_is_said_too_and_the_run_goes_to_its_end(tmp_path):
    (tmp_path / "odd.py").write_text(GROWING)
    plan = load_spec({**CHAINS, "sampler": "odd.walk", "chains": PLAIN}, plugins=[str(tmp_path / "odd.py")])
    record = run(plan, runs_dir=tmp_path / "runs")
    assert record.status == "finished"
    assert [line for line in record.warnings if "cannot be saved" in line] == [
        "sampler 'odd.walk': chains cannot be saved and restart if the run is interrupted, because "
        "'state.clock.0' is in its state at some steps only"
    ]


def test_a_state_that_no_file_holds_is_said_and_its_chains_restart(tmp_path):
    (tmp_path / "odd.py").write_text(ODD)
    spec = {**CHAINS, "sampler": "odd.walk", "chains": PLAIN, "evaluate": []}
    plan = load_spec(spec, plugins=[str(tmp_path / "odd.py")])
    expected = remains(run(plan, runs_dir=tmp_path / "whole").folder)
    folder = run(plan, runs_dir=tmp_path / "left", limit=After(60)).folder
    said = (folder / "log.txt").read_text()
    assert said.count("warning: ") == 1
    assert (
        "warning: sampler 'odd.walk': chains cannot be saved and restart if the run is interrupted, because "
        "'state.clock' is a Clock, which is neither a tensor nor a number"
    ) in said
    assert "enough; the chains cannot be saved and will restart; to continue:" in said
    assert resume(plan, folder).status == "finished"
    assert different(remains(folder), expected) == []


# Signals --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGKILL],
    ids=lambda number: number.name,
)
def test_a_signal_in_the_warm_up_and_another_in_the_draws(number, whole, spec, nursery, tmp_path):
    runs = tmp_path / "runs"
    for step, verb in ((14, "run"), (77, "resume")):
        place = (spec, "--runs-dir", runs) if verb == "run" else (next(runs.glob("*/*/")),)
        when = (runs, f"*/*/chains/step-{step:06d}/manifest.json", "")
        life = nursery.live(verb, *place, "--no-report", signal_when=when, number=number)
        assert life.status == (-number if number == signal.SIGKILL else 128 + number), life.said
        if number != signal.SIGKILL:
            assert re.search(rf"{number.name} received; saved (in the warm-up, )?after", life.said)
    (run_folder,) = runs.glob("*/*/")
    assert nursery.live("resume", run_folder, "--no-report").status == 0
    assert different(remains(run_folder), whole) == []


def kill(nursery, spec: Path, whole: dict[str, bytes], runs: Path, seconds: float, dice: random.Random) -> Counter[str]:
    """Kill a run at a random moment, and perhaps again while it is resumed."""
    life = nursery.live("run", spec, "--no-report", "--runs-dir", runs, signal_after=dice.uniform(0.2, 1) * seconds)
    if not any(runs.glob("*/*/run.json")):
        return Counter(early=1)
    (folder,) = runs.glob("*/*/")
    deaths = int(life.killed)
    for _ in range(dice.choice([0, 1, 2])):
        deaths += nursery.live("resume", folder, "--no-report", signal_after=dice.uniform(0.2, 1) * seconds).killed
    life = nursery.live("resume", folder, "--no-report")
    assert life.status == 0, life.said
    assert different(remains(folder), whole) == [], f"after {deaths} deaths, in {folder}"
    return Counter(deaths=deaths)


def kill_many(nursery, spec, whole, folder, deaths: int, seed: int) -> None:
    dice, seen = random.Random(seed), Counter[str]()
    seconds = nursery.live("run", spec, "--no-report", "--runs-dir", folder / "timed").seconds
    for number in range(20 * deaths):
        seen += kill(nursery, spec, whole, folder / str(number), seconds, dice)
        if seen["deaths"] >= deaths:
            break
    print(f"{seen['deaths']} deaths, and {seen['early']} before there was a run")
    assert seen["deaths"] >= deaths


def test_kills_at_random_moments(nursery, spec, whole, tmp_path):
    kill_many(nursery, spec, whole, tmp_path, 2, seed=1)


@pytest.mark.long
def test_a_hundred_kills_at_random_moments(nursery, spec, whole, tmp_path):
    kill_many(nursery, spec, whole, tmp_path, 100, seed=2)
