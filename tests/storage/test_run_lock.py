"""The lock of a run, seen from other processes."""

import errno
import os
import signal
import subprocess
import sys
import threading

import filelock
import pytest

from ebmkit.errors.running import StorageFailed
from ebmkit.storage import run_lock
from ebmkit.storage.atomic import sweep
from ebmkit.storage.run_lock import FILE, RunLock, is_locked

HOLDER = """
import sys, time
from pathlib import Path
from ebmkit.storage.run_lock import RunLock
lock = RunLock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
lock.release()
print("released", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_a_second_process_is_refused_and_the_folder_named(tmp_path, holder):
    assert is_locked(tmp_path)
    with pytest.raises(StorageFailed) as caught:
        RunLock(tmp_path)
    assert caught.value.message == f"{tmp_path}: another process is working on this run"


def test_a_killed_process_leaves_no_lasting_lock(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert (tmp_path / FILE).exists()
    assert not is_locked(tmp_path)
    RunLock(tmp_path).release()


def test_a_released_lock_is_free(tmp_path, holder):
    holder.stdin.close()
    assert holder.stdout.readline() == "released\n"
    assert not is_locked(tmp_path)
    RunLock(tmp_path).release()


def test_one_process_cannot_lock_a_run_twice_either(tmp_path):
    lock = RunLock(tmp_path)
    with pytest.raises(StorageFailed, match="another process"):
        RunLock(tmp_path)
    assert is_locked(tmp_path)
    lock.release()
    assert not is_locked(tmp_path)


def test_another_thread_may_release_it(tmp_path):
    lock = RunLock(tmp_path)
    thread = threading.Thread(target=lock.release)
    thread.start()
    thread.join()
    assert not is_locked(tmp_path)


def test_asking_leaves_no_trace(tmp_path):
    assert not is_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_moment_of_asking_refuses_no_run(tmp_path, monkeypatch):
    """`ebmkit runs` holds the lock while it asks; a run that begins in that moment waits for it."""
    asking = RunLock(tmp_path)
    monkeypatch.setattr(run_lock, "PATIENCE", 60)
    timer = threading.Timer(0.1, asking.release)
    timer.start()
    RunLock(tmp_path).release()
    timer.join()


def test_where_it_cannot_be_found_out_the_word_of_the_run_stands(tmp_path):
    (tmp_path / FILE).mkdir()  # cannot be opened, not even by root
    assert is_locked(tmp_path)
    with pytest.raises(StorageFailed, match=FILE):
        RunLock(tmp_path)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS], ids=errno.errorcode.get)
def test_nothing_is_at_work_in_a_read_only_archive(number, tmp_path, monkeypatch):
    (tmp_path / FILE).touch()
    monkeypatch.setattr(filelock.FileLock, "_acquire", failing(OSError(number, "refused")))  # root may write anywhere
    assert not is_locked(tmp_path)


def failing(error):
    def acquire(self):
        raise error

    return acquire


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("content")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed, match=FILE):
        RunLock(tmp_path)
    assert (tmp_path / "elsewhere").read_text() == "content"


def test_the_file_is_empty_and_stays_when_leftovers_are_swept(tmp_path):
    lock = RunLock(tmp_path)
    sweep(tmp_path)
    assert (tmp_path / FILE).read_bytes() == b""
    assert is_locked(tmp_path)
    lock.release()


def test_another_name_of_a_file_with_content_is_not_emptied(tmp_path):
    """Older versions of filelock truncate the file that they lock."""
    (tmp_path / "elsewhere").write_text("content")
    (tmp_path / FILE).hardlink_to(tmp_path / "elsewhere")
    assert is_locked(tmp_path)
    with pytest.raises(StorageFailed, match="another name of a file"):
        RunLock(tmp_path)
    assert (tmp_path / "elsewhere").read_text() == "content"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=lambda make: make.__name__)
def test_a_special_file_is_refused_and_never_waited_for(make, tmp_path):
    make(tmp_path / FILE)
    assert is_locked(tmp_path)
    with pytest.raises(StorageFailed, match="it is a"):
        RunLock(tmp_path)
