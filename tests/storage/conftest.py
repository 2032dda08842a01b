"""One thread: the machine may have others to serve."""

import os

import pytest


@pytest.fixture(autouse=True)
def _one_thread(one_thread):
    pass


@pytest.fixture
def current_arviz() -> str:
    """A Python with the packages `arviz` and `zarr`, of at least 3.12, which the current ArviZ needs."""
    if "ARVIZ_PYTHON" not in os.environ:
        pytest.skip("ARVIZ_PYTHON does not name a Python with ArviZ 1.0 or later")
    return os.environ["ARVIZ_PYTHON"]
