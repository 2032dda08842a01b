"""Ctrl-C and SIGTERM, anywhere in a run: it leaves at once or behind one step, saved, and says how to go on."""

from __future__ import annotations

import json
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.patience import PATIENCE

from .nursery import Life, Nursery
from .remains import different, ends
from .specs import LONG, SHORT

STRIKE = Path(__file__).with_name("strike.py")
INT, TERM = int(signal.SIGINT), int(signal.SIGTERM)

#: Six steps, each with two chains of two thousand steps. Every second one is saved, behind every third comes a metric.
SPEC: dict[str, Any] = {
    "ebmkit": 1,
    "name": "struck",
    "seed": 2,
    "device": "cpu",
    "data": {"use": "two_moons", "size": 64, "test_size": 32},
    "objective": "strike.twice",
    "train": {"steps": 6, "batch_size": 16, "ema": 0.9},
    "sampler": {"use": "strike.walk", "phase": "sampling"},
    "samples": 50,
    "samples_every": None,
    "evaluate": [{"use": "strike.slow", "every": 3}],
    "checkpoint": {"every": 2},
}

#: Seconds that a place stays when nothing interrupts it. Where a signal has to interrupt it at once, it stays long.
BRIEFLY, LONG_ENOUGH = 0.15, 300.0


class Blow(NamedTuple):
    """Where a run is struck, with what, and the step that is saved then (None: there is no run yet)."""

    phase: str
    at: tuple[int, ...]
    number: int
    saved: int | None
    linger: float = BRIEFLY
    after: float = 0.02
    #: Whether what was broken off could be undone; if not, the last checkpoint serves.
    undone: bool = True
    twice: bool = False


def chain(call: int, inner: int, number: int, after: float = 0.0) -> Blow:
    """Two calls make a step. A broken first one is undone. Behind it the buffer has changed: that cannot be."""
    done = (call - 1) // 2
    first = call % 2 == 1
    return Blow("chain", (call, inner), number, done if first else done // 2 * 2, 0.0, after, undone=first)


def in_metric(phase: str, turn: int, number: int) -> Blow:
    return Blow(phase, (turn,), number, {1: 3, 2: 6}[turn], linger=LONG_ENOUGH if phase == "deaf" else 0.0)


def sampling(inner: int, number: int) -> Blow:
    return Blow("sampling", (1, inner), number, 6, linger=0.0, after=0.0)


def saving(fsync: int, number: int, saved: int) -> Blow:
    """The first ones belong to the beginning of a run; then come the checkpoints of steps 2, 4 and 6."""
    return Blow("fsync", (fsync,), number, saved)


QUICK = [
    Blow("build", (1,), TERM, None, LONG_ENOUGH),
    Blow("pass", (3,), INT, 3),
    chain(7, 700, TERM),
    chain(6, 1300, INT, after=0.003),
    in_metric("deaf", 1, TERM),
    Blow("fsync", (31,), INT, 2, LONG_ENOUGH, twice=True),
]

LONG_LIST = [
    in_metric("python", 1, INT),
    in_metric("torch", 2, TERM),
    sampling(900, INT),
    saving(30, TERM, 4),
    *(Blow("build", (1,), number, None, LONG_ENOUGH, after) for number in (INT, TERM) for after in (0.0, 0.1)),
    *(Blow("run_started", (1,), number, 0) for number in (INT, TERM)),
    *(Blow("pass", (step,), number, step) for step in (1, 2, 5) for number in (INT, TERM)),
    *(chain(call, inner, INT) for call, inner in ((1, 1), (3, 2000), (4, 1), (8, 1999), (11, 5), (12, 1000))),
    *(chain(call, 600, TERM, after=0.002 * call) for call in range(1, 10)),
    *(
        in_metric(phase, turn, number)
        for phase in ("python", "torch", "asleep")
        for turn, number in ((1, TERM), (2, INT))
    ),
    *(sampling(inner, number) for inner in (1, 1000, 2000) for number in (INT, TERM)),
    *(
        saving(fsync, number, saved)
        for fsync, saved in ((9, 0), (14, 2), (26, 2), (36, 4), (50, 6))
        for number in (INT, TERM)
    ),
    *(
        Blow("fsync", (fsync,), number, saved, LONG_ENOUGH, twice=True)
        for fsync, saved in ((32, 2), (48, 4))
        for number in (INT, TERM)
    ),
]


@dataclass(frozen=True)
class Field:
    """Where runs are struck: their spec, their orders, and what an undisturbed one leaves."""

    spec: Path
    orders: Path
    remains: dict[str, bytes]


@pytest.fixture(scope="module")
def field(nursery, tmp_path_factory) -> Field:
    folder = tmp_path_factory.mktemp("field")
    spec, orders, runs = folder / "struck.yaml", folder / "orders", folder / "undisturbed"
    spec.write_text(json.dumps({**SPEC, "model": {"use": "strike.net", "orders": str(orders)}}))
    life = nursery.live("run", spec, "--plugin", STRIKE, "--runs-dir", runs)
    assert life.status == 0, life.said
    (run,) = runs.glob("*/*/")
    return Field(spec, orders, ends(run))


def strike(nursery: Nursery, field: Field, runs: Path, blow: Blow, *, draw: bool = False) -> Life:
    """A run that is struck."""
    for name in ("struck", "notes"):
        field.orders.with_name(name).unlink(missing_ok=True)
    orders = {"phase": blow.phase, "at": blow.at, "after": blow.after, "linger": blow.linger}
    field.orders.write_text(json.dumps({**orders, "signals": [blow.number] * (2 if blow.twice else 1)}))
    life = nursery.live("run", field.spec, "--plugin", STRIKE, "--runs-dir", runs, "--quiet", draw=draw)
    assert not field.orders.exists(), f"{blow} was never reached: {life.said}"
    assert life.status == 128 + blow.number, life.said
    assert life.seconds < LONG_ENOUGH
    return life


def times(path: Path) -> list[float]:
    return [float(line) for line in path.read_text().split()]


def go_on(nursery: Nursery, said: str, run: Path) -> None:
    """Type what the run that was left told to type."""
    (command,) = re.findall(r"to continue:  (ebmkit resume .*)", said)
    assert shlex.split(command)[2] == str(run)
    life = nursery.live(*shlex.split(command)[1:])
    assert life.status == 0, life.said


def check(nursery: Nursery, field: Field, runs: Path, blow: Blow) -> None:
    life = strike(nursery, field, runs, blow)
    if blow.saved is None:
        assert not runs.exists()
        return
    (run,) = runs.glob("*/*/")
    summary = json.loads((run / "run.json").read_text())
    assert summary["step"] == blow.saved
    if blow.twice:
        assert "stopped at once" in life.said
        assert summary["status"] == "running"  # there was no time to say more
        life = nursery.live("resume", run, "--plugin", STRIKE)
        assert life.status == 0, life.said
    else:
        assert summary["status"] == "interrupted"
        name = signal.Signals(blow.number).name
        kept = f"saved at step {blow.saved}" if blow.undone else f"the last checkpoint is of step {blow.saved}"
        assert f"{name} received; {kept}; to continue:" in life.said
        if blow.phase in ("chain", "sampling"):
            (struck,) = times(field.orders.with_name("struck"))
            assert sum(began > struck for began in times(field.orders.with_name("notes"))) <= 1
        go_on(nursery, life.said, run)
    assert different(ends(run), field.remains) == []


@pytest.mark.parametrize("blow", QUICK, ids=str)
def test_a_run_that_is_struck_goes_on_to_the_same_end(nursery, field, tmp_path, blow):
    check(nursery, field, tmp_path / "runs", blow)


@pytest.mark.long
def test_a_run_that_is_struck_anywhere_goes_on_to_the_same_end(nursery, field, tmp_path):
    for turn, blow in enumerate(LONG_LIST):
        try:
            check(nursery, field, tmp_path / str(turn), blow)
        except BaseException as error:
            error.add_note(f"{turn}: {blow}")
            raise


@pytest.mark.parametrize("number", [TERM, pytest.param(INT, marks=pytest.mark.long)])
def test_a_run_that_is_struck_while_it_draws(nursery, field, tmp_path, number):
    blow = Blow("report", (1,), number, 6, LONG_ENOUGH)
    life = strike(nursery, field, tmp_path, blow, draw=True)
    (run,) = tmp_path.glob("*/*/")
    assert json.loads((run / "run.json").read_text())["status"] == "interrupted"
    assert not (run / "report.html").exists()
    go_on(nursery, life.said, run)
    assert different(ends(run), field.remains) == []


# Before there is a run ------------------------------------------------------------------------------------------------


def import_and_strike(spec: Path, number: int, delay: float, folder: Path) -> None:
    """A process that has not been forked imports torch; it is struck meanwhile."""
    command = [sys.executable, "-m", "ebmkit", "run", str(spec), "--runs-dir", str(folder / "runs")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
    try:
        status = Path(f"/proc/{process.pid}/status")
        maps = Path(f"/proc/{process.pid}/maps")
        while "libtorch" not in maps.read_text():
            assert process.poll() is None
            time.sleep(0.002)
        assert int(re.findall(r"SigCgt:\s*(\w+)", status.read_text())[0], 16) >> (number - 1) & 1
        time.sleep(delay)
        process.send_signal(number)
        struck = time.monotonic()
        said = process.communicate(timeout=PATIENCE)[0]
    finally:
        process.kill()
    assert process.returncode == 128 + number, said
    assert said == ("interrupted\n" if number == INT else "terminated\n")
    assert time.monotonic() - struck < LONG_ENOUGH
    assert not (folder / "runs").exists()


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="sees in /proc when torch is being imported")
@pytest.mark.parametrize(
    ("number", "delay"),
    [
        (INT, 0.05),
        (TERM, 0.2),
        *(
            pytest.param(number, delay, marks=pytest.mark.long)
            for number in (INT, TERM)
            for delay in (0.0, 0.1, 0.3, 0.5)
        ),
    ],
)
def test_a_command_that_is_struck_while_it_imports_torch(written, tmp_path, number, delay):
    import_and_strike(written(SHORT), number, delay, tmp_path)


# From outside, at any time --------------------------------------------------------------------------------------------


@pytest.mark.long
def test_runs_that_are_struck_at_random_times(nursery, written, tmp_path):
    """By a process of its own; three quarters or so hit a run that is under way."""
    dice, hits = random.Random(0), 0
    for spec in (SHORT, LONG):
        path = written(spec)
        whole = nursery.live("run", path, "--runs-dir", tmp_path / spec["name"])
        (undisturbed,) = (tmp_path / spec["name"]).glob("*/*/")
        for turn in range(10):
            number, runs = dice.choice([INT, TERM]), tmp_path / f"{spec['name']}{turn}"
            moment = dice.uniform(0.1, whole.seconds)
            life = nursery.live("run", path, "--runs-dir", runs, signal_after=moment, number=number)
            begun = list(runs.glob("*/*/run.json"))
            if life.status == 0 or not begun:
                assert life.status in (0, 128 + number), life.said
                continue
            hits += 1
            assert life.status == 128 + number, life.said
            go_on(nursery, life.said, begun[0].parent)
            assert different(ends(begun[0].parent), ends(undisturbed)) == []
    assert hits >= 5
