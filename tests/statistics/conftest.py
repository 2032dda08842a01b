"""Float64 and one thread: oracles are compared to many digits, on a machine that others use too."""

import pytest
import torch


@pytest.fixture(autouse=True)
def _precise():
    before, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    yield
    torch.set_default_dtype(before)
    torch.set_num_threads(threads)
