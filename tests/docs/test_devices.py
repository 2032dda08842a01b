"""Specs, commands and the plugin of the page on devices work as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from ebmkit.language.load import load_spec

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "devices.md").read_text()
BLOCKS = re.findall(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```(?:\n\n((?:    [^\n]+\n)+))?", PAGE, re.MULTILINE | re.DOTALL)

SMALL = """\
ebmkit: 1
name: small
data: {use: two_moons, size: 64, test_size: 32}
model: {use: mlp, hidden: [4]}
objective: {use: nce, noise: gaussian}
sampler: {use: langevin, steps: 3}
samples: 20
train: {steps: 2, batch_size: 16}
"""


def blocks(language):
    return [text for found, _, text, _ in BLOCKS if found == language]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands of the page are given, one block after the other."""
    folder = tmp_path_factory.mktemp("devices")
    (folder / "small.yaml").write_text(SMALL)
    (folder / "bin").mkdir()
    (folder / "bin" / "ebmkit").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ebmkit "$@"\n')
    (folder / "bin" / "ebmkit").chmod(0o755)
    for _, name, text, _ in BLOCKS:
        if name:
            (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def done(folder):
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    return {
        text: subprocess.run(["sh", "-c", text], cwd=folder, env=environment, capture_output=True, text=True)
        for text in blocks("sh")
    }


@pytest.mark.parametrize("text", blocks("yaml"), ids=range(len(blocks("yaml"))))
def test_a_spec_may_say_this(text, tmp_path):
    (tmp_path / "spec.yaml").write_text(f"extends: quickstart\n{text}")
    load_spec(tmp_path / "spec.yaml")


@pytest.mark.parametrize("text", blocks("sh"), ids=range(len(blocks("sh"))))
def test_a_command(done, text):
    said = done[text]
    assert "Usage" not in said.stderr
    assert "Traceback" not in said.stderr
    missing = set(re.findall(r"--device (cuda(?::\d)?)", text)) if torch.cuda.device_count() < 2 else set()
    for device in missing:
        assert f"error[E305]: device '{device}' is not available here" in said.stderr
    if not missing and "check" not in text:
        assert said.returncode == 0, said.stderr


def test_nothing_is_written_where_the_device_is_missing(done, folder):
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    assert len([*(folder / "runs").glob("*/*")]) == 1
    assert (folder / "draws.npy").stat().st_size > 100


def test_the_law_says_what_the_page_says(done):
    ((text, shown),) = [(text, shown) for _, _, text, shown in BLOCKS if shown]
    (line,) = [line for line in done[text].stdout.splitlines() if "runs_on_the_device" in line]
    assert shown.strip() in line
    assert len(re.findall(" broken ", done[text].stdout)) == 1
    assert done[text].returncode == 3
