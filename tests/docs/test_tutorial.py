"""Every command of the tutorial works as it stands there, in an environment of its own."""

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "plugins" / "tutorial.md").read_text()
#: Files and commands, in the order of the page.
PARTS = re.findall(r"```(?:\w+ file=(\S+)|(sh))\n(.*?)```", PAGE, re.DOTALL)
FILES = [name for name, _, _ in PARTS if name]
COMMANDS = [line for _, shell, text in PARTS if shell for line in text.splitlines()]
#: What shortens the trainings in the quick test.
SHORT = " --set train.steps=2 --set samples=20 --unset expect"


@pytest.fixture
def environment(tmp_path_factory):
    """A new environment, in which the page installs its plugins, that sees the packages of this one: nothing is
    downloaded."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = Path(
        subprocess.run(
            [folder / "bin" / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    )
    root = Path(__file__).parents[2]
    (site / "shared.pth").write_text(f"{root}\n{sysconfig.get_path('purelib')}\n")
    for name in ("pip", "pytest"):
        (folder / "bin" / name).write_text(f"#!/bin/sh\nexec '{folder}/bin/python' -m {name} \"$@\"\n")
        (folder / "bin" / name).chmod(0o755)
    (folder / "bin" / "ebmkit").write_text(f"#!/bin/sh\nexec '{folder}/bin/python' -m ebmkit \"$@\"\n")
    (folder / "bin" / "ebmkit").chmod(0o755)
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # of an option that begins with "no", this is "yes"
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "OMP_NUM_THREADS": "1",
    }


def follow(folder, environment, shortened):
    said = {}
    for name, _, text in PARTS:
        if name:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
            continue
        for line in text.splitlines():
            done = subprocess.run(
                ["sh", "-c", shortened(line)], cwd=folder, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
            said[line] = done.stdout
    return said


def quick(line):
    if line.startswith("pytest"):
        return line + " --collect-only -q"
    return line + SHORT if line.startswith("ebmkit run") and "--unset" not in line else line


def test_every_command_works(tmp_path, environment):
    said = follow(tmp_path, environment, quick)
    assert re.search(r"is_strictly_convex +held", said["ebmkit plugins check jensen.py"])
    assert re.search(r"jensen +ebmkit-jensen", said["ebmkit plugins"])
    assert "jensen.jensen_shannon" in said["ebmkit list bregman"]
    assert "psi(u) = u log u" in said["ebmkit show bregman jensen.jensen_shannon"]
    assert (tmp_path / "ebmkit-tsallis/src/ebmkit_tsallis/halving.py").is_file()


@pytest.mark.long
def test_trainings_meet_their_claims(tmp_path, environment):
    follow(tmp_path, environment, str)


def test_the_first_plugin_has_at_most_12_lines_of_python_and_10_of_toml():
    sizes = {name: [line for line in text.splitlines() if line.strip()] for name, _, text in PARTS if name}
    assert len(sizes["jensen.py"]) <= 12
    assert len(sizes["ebmkit-jensen/pyproject.toml"]) <= 10
    assert (
        len([line for line in COMMANDS if "tsallis" in line and "halving" not in line and "manifest" not in line]) <= 5
    )
