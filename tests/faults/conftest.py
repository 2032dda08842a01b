"""What the tests of this folder share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from .nursery import Nursery


@pytest.fixture(scope="session")
def nursery(tmp_path_factory) -> Iterator[Nursery]:
    """Forks processes that may be killed."""
    with Nursery(tmp_path_factory.mktemp("nursery")) as nursery:
        yield nursery


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Writes a spec to a file."""

    def write(spec) -> Path:
        path = tmp_path_factory.mktemp("spec") / f"{spec['name']}.yaml"
        path.write_text(json.dumps(spec))
        return path

    return write
