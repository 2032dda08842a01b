"""Every wrong spec of `wrong_specs.md` gets the right codes at the right places, and nothing else happens."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest
from click.testing import CliRunner

from ebmkit.cli import group
from ebmkit.errors.catalogue import CATALOGUE

from .table import Case, Mark, read_table

CASES = read_table()

#: Words that would show what is under the bonnet.
UNWANTED = ["Traceback", "pydantic", "Input should be", "<class", "ruamel", "Node(", "object at 0x", "\x1b", "\0"]


def run(case: Case, folder: Path, *options: str) -> tuple[int, str, str]:
    """`ebmkit run` in this process: exit status, stdout, stderr. Whatever happens, nothing may be written."""
    runs = folder / "runs"
    runs.mkdir(exist_ok=True)
    arguments = ["run", case.write(folder), "--runs-dir", str(runs), *case.arguments(), *options]
    result = CliRunner().invoke(group, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert list(runs.iterdir()) == []
    return result.exit_code, result.stdout, result.stderr


def seen(reported: str, folder: Path) -> list[Mark]:
    """What `--format json` reports, in its order."""
    return [
        Mark(place["file"].removeprefix(f"{folder}/"), place["line"], place["column"], each["code"], place["length"])
        for each in json.loads(reported)
        for place in [each["place"]]
    ]


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_codes_and_places(case: Case, tmp_path: Path) -> None:
    torch_before = "torch" in sys.modules
    status, stdout, _ = run(case, tmp_path, "--format", "json")
    found = seen(stdout, tmp_path)
    assert sorted(found) == case.expected
    for source, marks in groupby(found, key=lambda mark: mark.source):  # file by file, each from top to bottom
        assert list(marks) == [mark for mark in case.expected if mark.source == source]
    assert status == case.exit_status
    assert ("torch" in sys.modules) == torch_before


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_words(case: Case, tmp_path: Path) -> None:
    _, stdout, stderr = run(case, tmp_path)
    assert stdout == ""
    for word in UNWANTED:
        assert word not in stderr
    for mark in case.expected:
        assert f"error[{mark.code}]: " in stderr
        where = mark.source if mark.source.startswith("--") else tmp_path / mark.source
        assert f"--> {where}:{mark.line}:{mark.column}\n" in stderr
    assert max(len(line) for line in stderr.splitlines()) < 600


def test_there_are_enough_kinds() -> None:
    assert len({case.title for case in CASES}) == len(CASES) >= 120


def test_every_code_of_a_wrong_spec_occurs() -> None:
    """E001 (no such file) and E002 (too large) are in `test_attacks.py`."""
    expected = {mark.code for case in CASES for mark in case.expected}
    assert {code for code in CATALOGUE if code < "E3"} - expected == {"E001", "E002"}


def test_torch_is_never_imported(tmp_path: Path) -> None:
    """All cases in one fresh process, so that no other test can have imported torch before."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from click.testing import CliRunner\n"
        "from ebmkit.cli import group\n"
        "from tests.hostile.table import read_table\n"
        "for number, case in enumerate(read_table()):\n"
        "    folder = Path(sys.argv[2], str(number)); folder.mkdir()\n"
        "    result = CliRunner().invoke(group, ['run', case.write(folder), *case.arguments()])\n"
        "    assert result.exit_code == case.exit_status, case.title\n"
        "assert 'torch' not in sys.modules\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program, str(root), str(tmp_path)], check=True, cwd=tmp_path)


@pytest.mark.parametrize("case", [CASES[0], CASES[len(CASES) // 2], CASES[-1]], ids=lambda case: case.title)
def test_in_a_process_of_its_own(case: Case, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ebmkit", "run", case.write(tmp_path), *case.arguments()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == case.exit_status
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert all(f"error[{mark.code}]" in done.stderr for mark in case.expected)
    assert {path.name for path in tmp_path.iterdir()} == set(case.files)
