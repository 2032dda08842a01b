"""The page of every kind is the one that its contract, its laws and its example give."""

import runpy
from pathlib import Path

import pytest

from ebmkit.contracts.kinds import KINDS

PLUGINS = Path(__file__).parents[2] / "docs" / "plugins"
write_kinds = runpy.run_path(str(PLUGINS / "write_kinds.py"))


@pytest.mark.parametrize("name", KINDS)
def test_a_page_is_in_step(name):
    written = (PLUGINS / "kinds" / f"{name}.md").read_text()
    assert written == write_kinds["page"](name, KINDS[name]), "run docs/plugins/write_kinds.py"


def test_there_is_no_other_page():
    assert {path.stem for path in (PLUGINS / "kinds").iterdir()} == set(KINDS)
