"""A disk that is full, broken or forbidden: what was saved stays, and the error names the file and the bytes."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ebmkit import load_spec
from ebmkit.engine.folder import checkpoint
from ebmkit.errors.running import StorageFailed
from ebmkit.language.plan import Plan
from tests.drawn import resume, run

from .refusals import Operation, Refusals
from .remains import different, ends
from .specs import SHORT

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="finds the names of open files in /proc")

NUMBERS = (errno.ENOSPC, errno.EACCES, errno.EIO, errno.EROFS)


@dataclass(frozen=True)
class Undisturbed:
    """A run that met no error, and every operation it made."""

    plan: Plan
    remains: dict[str, bytes]
    operations: list[Operation]

    @property
    def last_news(self) -> int:
        """The operation with which `run.json` begins to be written for the last time."""
        return max(n for n, each in enumerate(self.operations) if each == Operation("open", "run.json"))

    def find(self, what: str, name: str) -> int:
        """The number of the last operation of a kind on a file that is called so."""
        found = [n for n, each in enumerate(self.operations) if each.what == what and each.name.endswith(name)]
        return found[-1]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Iterator[Undisturbed]:

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr("ebmkit.report.summary.draw_summary", lambda *content: b"a picture")
        patches.setattr("ebmkit.report.page.write_report", lambda *content: "a report")
        plan, runs = load_spec(SHORT), tmp_path_factory.mktemp("undisturbed")
        with Refusals(runs) as refusals:
            record = run(plan, runs_dir=runs)
        yield Undisturbed(plan, ends(record.folder), refusals.seen)


def meet(undisturbed: Undisturbed, runs: Path, at: int, number: int, lasting: bool) -> None:
    """A run that meets an error stops with it, keeps what it had saved, and goes on when there is none."""
    operation, plan = undisturbed.operations[at], undisturbed.plan
    renamed = [each.name for each in undisturbed.operations[:at] if each.what == "rename"]
    saved = max((int(name.rpartition("-")[2]) for name in renamed), default=0)
    with Refusals(runs, at, number, lasting=lasting) as refusals, pytest.raises(StorageFailed) as caught:
        run(plan, runs_dir=runs)
    assert refusals.seen[at] == operation
    check_the_error(caught.value, operation, number)
    (folder,) = runs.glob("*/*/") if any(runs.glob("*/*/")) else (None,)
    if folder is None or not (folder / "run.json").exists():
        assert not saved
        return  # it had not begun
    sound = [checkpoint.read(path, plan.hash).step for path in checkpoint.found(folder / "checkpoints")]
    assert max(sound, default=0) >= saved
    summary = json.loads((folder / "run.json").read_text())
    if not lasting and at < undisturbed.last_news:  # a disk that stays full does not take the news
        assert summary["status"] == "failed"
        assert os.strerror(number) in summary["error"]
    assert resume(plan, folder).status == "finished"
    assert different(ends(folder), undisturbed.remains) == []


def check_the_error(error: StorageFailed, operation: Operation, number: int) -> None:
    assert error.exit_status == 5
    assert error.code == "E303"
    assert os.strerror(number) in error.message
    name = operation.name.split("/")[-1]
    if "." in name[1:]:  # a file, and not by its temporary name
        assert f"/{name}: " in error.message
    assert name in error.message or name == "."
    if operation.what == "write":
        assert re.search(r"writing [\d,]+ bytes", error.message)


#: One of each kind: (operation, end of the file's name, error, whether it stays).
QUICK = [
    ("mkdir", "checkpoints/step-000003", errno.EACCES, False),
    ("write", "log.txt", errno.ENOSPC, True),
    ("write", "metrics.jsonl", errno.ENOSPC, True),
    ("fsync", "metrics.jsonl", errno.EIO, False),
    ("write", "run.json", errno.EROFS, True),
    ("write", "checkpoints/step-000012/optimizer.safetensors", errno.ENOSPC, True),
    ("fsync", "checkpoints/step-000018/state.json", errno.EIO, False),
    ("replace", "checkpoints/step-000018/manifest.json", errno.EIO, True),
    ("rename", "checkpoints/step-000015", errno.EACCES, False),
    ("write", "samples/samples.safetensors", errno.ENOSPC, False),
    ("open", "plots/summary.png", errno.EACCES, True),
    ("write", "report.html", errno.ENOSPC, False),
]


@pytest.mark.parametrize(("what", "name", "number", "lasting"), QUICK)
def test_an_error_names_the_file_and_nothing_is_lost(undisturbed, tmp_path, what, name, number, lasting):
    meet(undisturbed, tmp_path, undisturbed.find(what, name), number, lasting)


@pytest.mark.long
def test_an_error_at_every_kind_of_operation(undisturbed, tmp_path):
    """The first and the last time that each thing is done to each file, whatever the step of its checkpoint."""
    kinds: dict[tuple[str, str], list[int]] = {}
    for at, each in enumerate(undisturbed.operations):
        if each.what == "unlink":  # of what is temporary: nothing depends on it
            continue
        kinds.setdefault((each.what, re.sub(r"\d{6}", "N", each.name)), []).append(at)
    sites = sorted({at for found in kinds.values() for at in (found[0], found[-1])})
    assert len(sites) >= 30
    for turn, at in enumerate(sites):
        runs = tmp_path / str(at)
        runs.mkdir()
        try:
            meet(undisturbed, runs, at, NUMBERS[turn % 4], lasting=turn % 8 < 4)
        except BaseException as error:
            error.add_note(f"at operation {at}, {undisturbed.operations[at]}")
            raise


# Errors that nobody makes up ------------------------------------------------------------------------------------------

#: Its weights take 270 kB, more than everything else together.
WIDE: dict[str, Any] = {**SHORT, "name": "wide", "model": {"use": "mlp", "hidden": [256, 256]}}


def test_a_file_that_may_not_grow_so_large(tmp_path, undrawn):
    """A limit of the system, as a batch system sets it."""
    plan, before = load_spec(WIDE), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises(StorageFailed, match=r"model\.safetensors: File too large, writing 26\d,\d{3} bytes"):
            run(plan, runs_dir=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (folder,) = tmp_path.glob("*/*/")
    assert json.loads((folder / "run.json").read_text())["status"] == "failed"
    assert not any((folder / "checkpoints").iterdir())
    resume(plan, folder)
    assert different(ends(folder), ends(run(plan, runs_dir=tmp_path / "undisturbed").folder)) == []


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 1.8 MB: room for one checkpoint."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1800k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root may mount a file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_full_until_somebody_makes_room(tmp_path, small_disk, undrawn):
    plan = load_spec(WIDE)
    with pytest.raises(StorageFailed, match=r"No space left on device, writing [\d,]+ bytes \([\d,]+ free\)"):
        run(plan, runs_dir=small_disk)
    (folder,) = small_disk.glob("*/*/")
    (saved,) = checkpoint.found(folder / "checkpoints")
    assert checkpoint.read(saved, plan.hash).step == 3
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    resume(plan, folder)
    assert different(ends(folder), ends(run(plan, runs_dir=tmp_path / "undisturbed").folder)) == []


def test_what_is_printed_may_meet_a_full_disk_too(tmp_path):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "ebmkit", "list"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert ended.returncode == 5
    assert ended.stderr.startswith("error[E303]: standard output: No space left on device\n")
