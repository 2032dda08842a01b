"""What is known about the memory of this machine."""

import pytest

from ebmkit.storage import memory


def test_the_memory_of_this_machine_is_known():
    assert memory.total_memory() > 10**8
    assert 0 < memory.available_memory() <= memory.total_memory()


@pytest.fixture
def container(tmp_path, monkeypatch):
    """The files of a container, to be written."""
    (tmp_path / "stat").write_text("anon 1000\nfile 777\n")
    monkeypatch.setattr(memory, "_CONTAINERS", ((str(tmp_path / "max"), str(tmp_path / "stat"), "anon"),))
    return tmp_path


def test_a_container_may_have_less(container):
    (container / "max").write_text("5000\n")
    assert (memory.total_memory(), memory.available_memory()) == (5000, 4000)


def test_a_container_without_a_limit_or_with_a_huge_one_has_all(container, monkeypatch):
    for limit in ("max", str(1 << 62)):
        (container / "max").write_text(limit)
        assert memory.total_memory() == memory._physical()
    monkeypatch.setattr(memory, "_physical", lambda: None)
    (container / "max").write_text("max")
    assert memory.total_memory() is None
