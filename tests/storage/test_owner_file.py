"""File systems without locks: a file names the process that works on a run, and others are refused."""

import errno
import json
import os
import signal
import subprocess
import sys

import pytest

from ebmkit.errors.running import StorageFailed
from ebmkit.storage import owner_file
from ebmkit.storage.owner_file import FILE, Owner
from ebmkit.storage.run_lock import RunLock, is_locked

#: A process on a file system whose answer to `flock` is an error.
WITHOUT_LOCKS = """
import fcntl, os, sys
from pathlib import Path

def flock(descriptor, operation):
    raise OSError(number, os.strerror(number))

number, fcntl.flock = int(sys.argv[1]), flock
"""

HOLDER = """
from ebmkit.storage.run_lock import RunLock
lock = RunLock(Path(sys.argv[2]))
print("locked", flush=True)
sys.stdin.read()
lock.release()
print("released", flush=True)
"""

NUMBERS = [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP]


def process(code, number, folder):
    words = [sys.executable, "-c", WITHOUT_LOCKS + code, str(number), str(folder)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def without_locks(monkeypatch):
    import fcntl

    def flock(descriptor, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.fixture
def holder(tmp_path):
    found = process(HOLDER, errno.ENOSYS, tmp_path)
    assert found.stdout.readline() == "locked\n"
    yield found
    end(found)


def end(process):
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


@pytest.mark.parametrize("number", NUMBERS, ids=errno.errorcode.get)
def test_every_answer_without_locks_is_understood(number, tmp_path, monkeypatch):
    def flock(descriptor, operation):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", flock)
    lock = RunLock(tmp_path)
    assert "no locks" in lock.notice
    assert (tmp_path / FILE).exists()
    lock.release()
    assert not (tmp_path / FILE).exists()


def test_a_second_process_is_refused_and_the_first_named(holder, tmp_path, without_locks):
    assert is_locked(tmp_path)
    with pytest.raises(StorageFailed, match=f"process {holder.pid} on .* is working on this run") as refused:
        RunLock(tmp_path)
    assert str(tmp_path / FILE) in refused.value.help


def test_a_process_that_has_locks_is_refused_too(holder, tmp_path):
    with pytest.raises(StorageFailed, match=f"process {holder.pid}"):
        RunLock(tmp_path)


def test_a_killed_process_on_this_machine_leaves_no_lasting_lock(holder, tmp_path, without_locks):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / FILE).exists()
    assert not is_locked(tmp_path)
    RunLock(tmp_path).release()
    assert not (tmp_path / FILE).exists()


def test_a_released_lock_is_free(holder, tmp_path, without_locks):
    holder.stdin.close()
    assert holder.stdout.readline() == "released\n"
    assert not (tmp_path / FILE).exists()
    RunLock(tmp_path).release()


def test_a_run_says_once_in_its_log_that_there_are_no_locks(tmp_path, without_locks):
    from ebmkit import load_spec
    from ebmkit.engine import session

    spec = {"ebmkit": 1, "model": "gaussian", "sampler": {"use": "langevin", "steps": 1}, "samples": 10}
    folder = session.run(load_spec(spec), runs_dir=tmp_path).folder
    assert (folder / "log.txt").read_text().count("has no locks") == 1
    assert not (folder / FILE).exists()


def owned(folder, **changes):
    content = {**Owner.this_process()._asdict(), **changes}
    (folder / FILE).write_text(json.dumps(content))


@pytest.mark.parametrize("changes", [{"host": "elsewhere/1"}, {"started": Owner.this_process().started}])
def test_a_process_that_may_be_alive_keeps_the_run(changes, tmp_path, without_locks):
    owned(tmp_path, **changes)
    assert is_locked(tmp_path)
    with pytest.raises(StorageFailed, match="is working on this run"):
        RunLock(tmp_path)
    assert (tmp_path / FILE).exists()


@pytest.mark.parametrize("changes", [{"pid": 2**22 + 1}, {"pid": 2**70}, {"started": "an earlier process"}])
def test_a_process_of_this_machine_that_has_ended_does_not(changes, tmp_path, without_locks):
    owned(tmp_path, **changes)
    assert not is_locked(tmp_path)
    RunLock(tmp_path).release()


@pytest.mark.parametrize("content", ["", "{}", "[" * 100_000, "1" * 9000, '{"host": 1, "pid": "x", "started": 2}'])
def test_a_file_that_cannot_be_understood_belongs_to_an_unknown_process(content, tmp_path, without_locks):
    (tmp_path / FILE).write_text(content)
    assert is_locked(tmp_path)
    with pytest.raises(StorageFailed, match="an unknown process"):
        RunLock(tmp_path)


def test_of_many_that_find_an_abandoned_file_one_gets_the_run(tmp_path):
    owned(tmp_path, pid=2**22 + 1)
    contenders = [process(HOLDER, errno.ENOLCK, tmp_path) for _ in range(4)]
    lines = [each.stdout.readline() for each in contenders]  # empty where a contender was refused
    assert lines.count("locked\n") == 1
    for each in contenders:
        end(each)


def test_a_new_file_is_put_back(tmp_path):
    """The abandoned file was replaced by another process after this one had read it."""
    owned(tmp_path)
    owner_file._remove_abandoned(tmp_path, Owner("elsewhere/1", 1, "1"))
    assert Owner.of(tmp_path) == Owner.this_process()


def test_a_file_that_is_not_yet_written_is_put_back(tmp_path):
    """The new owner of a file system without hard links has created its file, and writes it next."""
    (tmp_path / FILE).touch()
    owner_file._remove_abandoned(tmp_path, Owner("elsewhere/1", 1, "1"))
    assert (tmp_path / FILE).read_bytes() == b""


def test_the_file_of_a_third_process_is_not_removed(tmp_path, monkeypatch):
    """The file is there when this process tries to create it, gone when it is read, and then that of another one."""
    owned(tmp_path, host="first/1")
    read = Owner.of.__func__

    def of(cls, folder):
        monkeypatch.undo()
        (folder / FILE).unlink()
        assert read(cls, folder) is None
        owned(folder, host="third/1")

    monkeypatch.setattr(Owner, "of", classmethod(of))
    assert owner_file.take(tmp_path).host == "third/1"
    assert Owner.of(tmp_path).host == "third/1"


KILLED_WHEN_WRITING = """
import io, signal
from ebmkit.storage.owner_file import take

class Dying(io.TextIOWrapper):
    def write(self, text):
        os.kill(os.getpid(), signal.SIGKILL)

opened = Path.open
Path.open = lambda path, *words, **more: Dying(io.open(path, "xb")) if words == ("x",) else opened(path, *words, **more)
take(Path(sys.argv[2]))
"""


def test_a_process_that_is_killed_when_it_writes_leaves_nothing_that_stops_others(tmp_path, without_locks):
    died = process(KILLED_WHEN_WRITING, errno.ENOSYS, tmp_path)
    assert died.wait() == -signal.SIGKILL, died.stderr.read()
    end(died)
    assert [path.name for path in tmp_path.iterdir()] == [f"{FILE}.new.{died.pid}"]
    assert not is_locked(tmp_path)
    RunLock(tmp_path).release()


def test_without_hard_links_the_file_is_written_all_the_same(tmp_path, without_locks, monkeypatch):
    def link(source, target):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    lock = RunLock(tmp_path)
    assert Owner.of(tmp_path) == Owner.this_process()
    with pytest.raises(StorageFailed, match="is working on this run"):
        RunLock(tmp_path)
    lock.release()
    assert list(tmp_path.glob("*owner*")) == []
