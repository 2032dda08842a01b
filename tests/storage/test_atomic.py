"""Writing to files of an untrusted folder."""

import os
import tracemalloc

import pytest

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import open_append


@pytest.fixture
def log(tmp_path):
    """A log that is another file, too."""
    (tmp_path / "other").touch()
    os.link(tmp_path / "other", tmp_path / "log.txt")
    return tmp_path / "log.txt"


def test_a_log_with_a_second_name_is_copied_in_pieces(log, tmp_path):
    with (tmp_path / "other").open("wb") as file:
        for number in range(20):
            file.write(bytes([number]) * (1 << 20))
    before = (tmp_path / "other").read_bytes()
    tracemalloc.start()
    with open_append(log) as file:
        file.write("a line\n")
    assert tracemalloc.get_traced_memory()[1] < 6 << 20
    tracemalloc.stop()
    assert (tmp_path / "other").read_bytes() == before
    assert log.read_bytes() == before + b"a line\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.txt", "other"]


def test_one_that_is_mostly_empty_is_refused(log):
    os.truncate(log, 1 << 40)
    with pytest.raises(StorageFailed, match=r"log\.txt: expands from 0 bytes on disk to 1,099,511,627,776"):
        open_append(log)
