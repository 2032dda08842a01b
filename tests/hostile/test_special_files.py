"""Paths in a spec that lead to no plain file: each is refused at its line, and none is waited for."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from ebmkit.errors import EbmkitError, Mistakes
from ebmkit.language.load import load_spec

#: What a path may lead to: it is made under a name, or exists on every Linux machine.
KINDS: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir,
    "pipe": os.mkfifo,
    "socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
    "loop": lambda path: path.symlink_to(path.name),
    "nowhere": lambda path: path.symlink_to("nothing"),
    "zeros": lambda path: path.symlink_to("/dev/zero"),
    "noise": lambda path: path.symlink_to("/dev/urandom"),
    "full": lambda path: path.symlink_to("/dev/full"),
    "terminal": lambda path: path.symlink_to("/dev/tty"),
    "memory": lambda path: path.symlink_to("/proc/self/mem"),
    "map": lambda path: path.symlink_to("/proc/self/pagemap"),
    "environment": lambda path: path.symlink_to("/proc/self/environ"),
    "holes": lambda path: (path.touch(), os.truncate(path, 1 << 42)),
}

HEAD = "ebmkit: 1\nmodel: mlp\nsampler: langevin\n"

#: How a spec names the path; what follows the name of the file decides how it is read.
USES = {
    "extends": (HEAD + "extends: {}\n", ".yaml"),
    "csv": (HEAD + "data: {{use: csv, path: {}}}\n", ".csv"),
    "npz": (HEAD + "data: {{use: npz, path: {}}}\n", ".npz"),
    "npy": (HEAD + "data: {{use: tensor_file, path: {}}}\n", ".npy"),
    "safetensors": (HEAD + "data: {{use: tensor_file, path: {}}}\n", ".safetensors"),
    "celeba": (HEAD + "data: {{use: celeba, path: {}}}\n", ".npy"),
    "below": (HEAD + "data: {{use: csv, path: {}/data.csv}}\n", ""),
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusals(spec: str) -> list[EbmkitError]:
    Path("spec.yaml").write_text(spec)
    with pytest.raises(Mistakes) as caught:
        load_spec("spec.yaml")
    return caught.value.mistakes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", USES)
def test_what_is_no_file_is_refused_at_its_line(use: str, kind: str) -> None:
    text, suffix = USES[use]
    path = Path(f"special{suffix}")
    KINDS[kind](path)
    if use == "celeba" and kind in ("loop", "nowhere"):
        Path("spec.yaml").write_text(text.format(path).replace("mlp", "conv"))
        load_spec("spec.yaml")  # its shape is known without the file
        return
    (mistake,) = refusals(text.format(path))
    assert mistake.exit_status == 2
    assert mistake.place is not None
    if mistake.place.source.name == "spec.yaml":
        assert mistake.place.line == 4
    else:  # a text that is no spec is refused inside itself
        assert kind in ("environment", "map")


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_images_whose_files_are_none(kind: str) -> None:
    Path("cifar").mkdir()
    KINDS[kind](Path("cifar/data_batch_1.bin"))
    spec = HEAD.replace("mlp", "conv") + "data: {use: cifar10, folder: cifar}\n"
    if kind in ("loop", "nowhere"):
        Path("spec.yaml").write_text(spec)
        load_spec("spec.yaml")
        return
    (mistake,) = refusals(spec)
    assert mistake.place is not None
    assert "data_batch_1.bin" in mistake.message


#: Paths that the system refuses.
NAMES = ["x" * 300, "x/" * 3000, '"a\\0b"', '"\\ud800"', "''", ".", "/", "~", "a" * 100_000]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
@pytest.mark.parametrize("use", [*USES, "cifar10"])
def test_a_name_that_the_system_refuses_is_a_located_mistake(use: str, name: str) -> None:
    text = HEAD + "data: {{use: cifar10, folder: {}}}\n" if use == "cifar10" else USES[use][0]
    Path("spec.yaml").write_text(text.format(name))
    found: list[EbmkitError] = []
    try:
        load_spec("spec.yaml")
    except Mistakes as several:
        found = several.mistakes
    assert found or use in ("celeba", "cifar10")  # whose shape is known without a file
    assert all(mistake.place is not None for mistake in found)
