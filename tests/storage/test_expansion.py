"""Files that take little space on disk."""

import os

import pytest

from ebmkit.errors.running import StorageFailed
from ebmkit.storage import expansion
from ebmkit.storage.expansion import ALWAYS, check_sparse
from ebmkit.storage.reading import read_whole


@pytest.fixture
def sparse(tmp_path):
    """Makes a file with some bytes and then a hole."""

    def make(start: bytes, size: int):
        path = tmp_path / "file"
        path.write_bytes(start)
        os.truncate(path, size)
        return path

    return make


@pytest.mark.parametrize("start", [b"", b"x"])
def test_a_file_of_holes_is_refused_also_if_it_has_no_data_at_all(start, sparse):
    path = sparse(start, ALWAYS + 1)
    assert path.stat().st_blocks * 512 <= 4096
    with pytest.raises(StorageFailed, match=r"expands from [\d,]+ bytes on disk to 67,108,865"):
        read_whole(path)


def test_a_small_one_is_read(sparse):
    assert read_whole(sparse(b"", 1000)) == bytes(1000)


def test_a_file_system_that_does_not_say_what_a_file_takes_is_believed(sparse, monkeypatch):
    """It reports zero blocks for every file, also for one that has data."""
    path = sparse(b"data", ALWAYS + 1)
    status = os.stat_result(path.stat()[:10], {"st_blocks": 0})
    with path.open("rb") as file:
        monkeypatch.setattr(expansion.os, "fstat", lambda descriptor: status)
        check_sparse(file.fileno())
        assert file.read(4) == b"data"  # it is still at its beginning
