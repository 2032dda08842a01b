"""Runs that take longer than others."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def _unhurried(unhurried):
    pass
