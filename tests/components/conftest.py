"""Float64 and one thread: oracles are compared to many digits, on a machine that others use too."""

import pytest


@pytest.fixture(autouse=True)
def _precise(precise):
    pass


@pytest.fixture(scope="session", autouse=True)
def _unhurried(unhurried):
    pass
