"""arviz where it is installed, and one thread: the machine may have others to serve."""

import logging
import warnings

import pytest
import torch


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it announces its next version
        found = pytest.importorskip("arviz", "0.23", reason="arviz 0.23 is a dev dependency: pip install -e '.[dev]'")
    logging.getLogger("arviz").setLevel(logging.ERROR)  # it also tells of every chain that is too short
    return found
