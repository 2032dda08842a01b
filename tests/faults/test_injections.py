"""A number that is not finite, planted anywhere: it is named with its component, line and step, or counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ebmkit import load_spec
from ebmkit.engine import session
from ebmkit.engine.folder.record import Record
from ebmkit.errors import EbmkitError
from ebmkit.errors.running import ComponentFailed, Diverged
from ebmkit.errors.source import Source
from tests import drawn

from .injection import planted
from .injection_sites import SITES, Site

#: One site in this many is part of every test run.
SAMPLE = 3


def carried_out(site: Site, folder: Path, run: Callable[..., Record] = session.run) -> Record:
    """The run of a spec that has a line for each section. What failed at its end is raised, as by the command."""
    text = "".join(f"{name}: {json.dumps(section)}\n" for name, section in site.spec.items())
    plan = load_spec(Source("injected.yaml", text))
    with planted(site.plant) as clock:
        try:
            record = run(plan, runs_dir=folder)
        finally:
            assert clock.fired, "nothing was planted"
    for failure in record.failed:
        raise failure.error
    return record


def _marked(site: Site, number: int) -> object:
    return pytest.param(site, id=site.name, marks=[pytest.mark.long] if number % SAMPLE else [])


@pytest.mark.parametrize("site", [_marked(site, number) for number, site in enumerate(SITES)])
def test_it_is_named_or_counted(site, tmp_path):
    if site.counted:
        record = carried_out(site, tmp_path)
        assert site.counted in (record.folder / "log.txt").read_text()
        return
    with pytest.raises(EbmkitError) as caught:
        carried_out(site, tmp_path)
    error = caught.value
    assert isinstance(error, ComponentFailed if site.status == 3 else Diverged), error
    assert error.exit_status == site.status
    assert error.message.startswith(site.who), error
    assert site.when in error.message
    assert error.place is not None
    name = site.who.partition(" ")[2].strip("'")
    line = error.place.source.line(error.place.line)
    assert f'"{name}"' in line, line


@pytest.mark.parametrize(
    "name",
    [
        "energy at a proposal of hmc in training",
        pytest.param("energy at a proposal in the warm-up", marks=pytest.mark.long),
    ],
)
def test_the_report_shows_what_was_counted(name, tmp_path):
    (site,) = [site for site in SITES if site.name == name]
    assert site.counted in carried_out(site, tmp_path, drawn.run).report.read_text()


def test_a_hundred_sites():
    assert len(SITES) >= 100
    names = [(site.name, site.plant) for site in SITES]
    assert len(set(names)) == len(names)
