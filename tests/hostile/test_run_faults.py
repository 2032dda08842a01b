"""A component that misbehaves when a spec uses it is named with its distribution at the line of the spec, and a plain
spec that is run afterwards in the same process gives the same bits."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ebmkit.cli import group

from .run_faults import RUN_FAULTS, TRAIN

#: Those that are tried in every run of the tests.
SOME = list(RUN_FAULTS)[::4]


def ebmkit(*words: str) -> Result:
    done = CliRunner().invoke(group, words, prog_name="ebmkit")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def bits(folder: Path) -> dict[str, str]:
    """The hashes of the weights of a run of a plain spec."""
    (folder / "plain.yaml").write_text(TRAIN)
    done = ebmkit("run", "plain.yaml", "--quiet", "--no-report")
    assert done.exit_code == 0, done.stderr
    files = (folder / done.stdout.strip()).glob("checkpoints/step-*/*.safetensors")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, str]:
    """The bits of a run in a process that has met no faulty component yet."""
    before, folder = Path.cwd(), tmp_path_factory.mktemp("alone")
    os.chdir(folder)
    try:
        return bits(folder)
    finally:
        os.chdir(before)


def check(name: str, install, folder: Path) -> None:
    fault = RUN_FAULTS[name]
    install("odd", fault.code)
    (folder / "spec.yaml").write_text(fault.spec)
    found = ebmkit("validate", "spec.yaml")
    if fault.when == "run":
        assert found.exit_code == 0, found.stderr
        found = ebmkit("run", "spec.yaml", "--quiet", "--no-report")
    assert found.exit_code == fault.status, found.stderr
    (line,) = [line for line in found.stderr.splitlines() if line.startswith("error")]
    assert "'odd.odd' of ebmkit-odd 1.0" in line
    assert fault.reason in line
    assert f"spec.yaml:{fault.line}:" in found.stderr
    assert "Traceback" not in found.stderr
    assert ebmkit("list").exit_code == 0


@pytest.mark.parametrize("name", SOME)
def test_a_component_that_misbehaves_is_named_at_its_line(install, tmp_path, monkeypatch, alone, name):
    monkeypatch.chdir(tmp_path)
    check(name, install, tmp_path)
    assert name != SOME[-1] or bits(tmp_path) == alone  # after all of them


@pytest.mark.long
@pytest.mark.parametrize("name", RUN_FAULTS)
def test_plain_specs_give_the_same_bits_after_each(install, tmp_path, monkeypatch, alone, name):
    monkeypatch.chdir(tmp_path)
    check(name, install, tmp_path)
    assert bits(tmp_path) == alone
