"""`ebmkit doctor` on the project that is called `ebmkit` on PyPI, and on plugins that ask for it."""

import json

import pytest

from tests.cli.typed import ebmkit
from tests.planted import GENERATOR


@pytest.fixture
def namesake(install, tmp_path):
    """The other project, whose import name is `ebm`, and a plugin that brought it here."""
    info = tmp_path / "ebmkit-1.2.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ebmkit\nVersion: 1.2.3\n")
    (tmp_path / "ebm.py").write_text("raise SystemExit('it must not be imported')\n")
    install("alpha", "raise SystemExit('it must not be imported')", requires="ebmkit>=1")
    install("beta", GENERATOR)


def test_the_namesake_and_a_plugin_that_depends_on_it_are_named(namesake):
    done = ebmkit("doctor", "--json", status=3)
    found = {row["subject"]: row for row in json.loads(done.stdout)}
    assert found["ebmkit"]["verdict"] == "note"
    assert found["ebmkit"]["words"].startswith("1.2.3, another project, is installed")
    assert found["alpha"]["verdict"] == "bad"
    assert "plugin 'alpha' (ebmkit-alpha) cannot be used: it depends on 'ebmkit'" in found["alpha"]["words"]
    assert "should depend on 'ebmkit-core'" in found["alpha"]["words"]
    assert found["beta"]["verdict"] == "ok"
    assert "must not be imported" not in done.output


@pytest.mark.parametrize("requirement", ["ebmkit", "EBMKit~=1.0", "ebmkit[extra] ; python_version > '3'"])
def test_however_it_is_written(install, requirement):
    install("alpha", GENERATOR, requires=requirement)
    (line,) = [line for line in ebmkit("plugins", status=3).stdout.splitlines() if line.startswith("alpha")]
    assert "it depends on 'ebmkit', which is another project on PyPI" in line
