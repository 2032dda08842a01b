"""Hostile data files: what readers stumble over, and honest files with damage."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import trees

X = np.random.default_rng(0).standard_normal((40, 2)).astype("float32")


def honest_csv() -> bytes:
    text = io.StringIO()
    np.savetxt(text, X, delimiter=",", header="a,b", comments="")
    return text.getvalue().encode()


def honest_npy() -> bytes:
    file = io.BytesIO()
    np.save(file, X)
    return file.getvalue()


def honest_npz() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, x=X, y=np.arange(40))
    return file.getvalue()


def honest_safetensors() -> bytes:
    from safetensors.numpy import save

    return save({"x": X, "other": X[:3]})


#: Suffix -> an honest file, and the component that reads it.
HONEST: dict[str, tuple[Callable[[], bytes], str]] = {
    "csv": (honest_csv, "csv"),
    "npz": (honest_npz, "npz"),
    "npy": (honest_npy, "tensor_file"),
    "safetensors": (honest_safetensors, "tensor_file"),
}


# Damage of bytes ------------------------------------------------------------------------------------------------------


def flip(content: bytes, rng: random.Random) -> bytes:
    raw = bytearray(content)
    for _ in range(rng.choice([1, 1, 5, 50])):
        at = rng.randrange(min(len(raw), 200) if rng.random() < 0.6 else len(raw))
        raw[at] = rng.choice([raw[at] ^ (1 << rng.randrange(8)), 0, 0xFF, rng.randrange(256)])
    return bytes(raw)


def cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def insert(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return (
        content[:at] + rng.choice([b"\0", b"\xff" * 9, b"\n", b'"', b",", b"nan", b"1" * 5000, content]) + content[at:]
    )


def doubled(content: bytes, rng: random.Random) -> bytes:
    return content + content


def shuffled(content: bytes, rng: random.Random) -> bytes:
    at, to = sorted(rng.randrange(len(content)) for _ in range(2))
    return content[:at] + content[to:] + content[at:to]


def random_bytes(content: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(rng.choice([0, 1, 8, 100, 100_000]))


def of_another_format(content: bytes, rng: random.Random) -> bytes:
    return rng.choice([make for make, _ in HONEST.values()])()


DAMAGE = [flip, flip, flip, cut, cut, insert, doubled, shuffled, random_bytes, of_another_format]


# Files that lie -------------------------------------------------------------------------------------------------------


def lying_npy(rng: random.Random) -> bytes:
    """A header of our own making."""
    shape = rng.choice(
        [
            "(40, 2)",
            "(80,)",
            "()",
            "(0, 2)",
            "(40, 0)",
            "(1, 80)",
            "(2, 40)",
            f"({2**62}, {2**62})",
            "(-40, -2)",
            "(40, 2.0)",
            f"({'1, ' * 70})",
            f"({'9' * 4000},)",
            "[40, 2]",
            "(40, 2",
            "((40, 2),)",
            "(True, 80)",
            "(40, None)",
            "40",
        ]
    )
    descr = rng.choice(
        ["<f4", ">f4", "<f8", "|u1", "|b1", "<i8", "<c8", "|O", "<U9", "<M8[s]", "", "f4", "<f16", "|V4"]
    )
    text = f"{{'descr': {descr!r}, 'fortran_order': {rng.choice(['True', 'False', '0'])}, 'shape': {shape}, }}\n"
    text = rng.choice([text, text, text, text[:-9], "(" * 3000, "__import__('os').system('id')", text * 100])
    body = rng.choice(
        [X.tobytes(), b"", bytes(31), bytes(320), bytes(1 << 20), np.full(80, np.nan, "float32").tobytes()]
    )
    version = rng.choice([1, 1, 1, 2, 3, 4, 255])
    length = rng.choice([len(text), len(text), len(text), 0, 65535])
    return (
        b"\x93NUMPY" + bytes([version, 0]) + length.to_bytes(2 if version == 1 else 4, "little") + text.encode() + body
    )


def lying_npz(rng: random.Random) -> bytes:
    """An archive with other members, directories, methods and sizes."""
    file = io.BytesIO()
    method = rng.choice(
        [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
    )
    with zipfile.ZipFile(file, "w", method) as archive:
        for name in rng.sample(
            ["x.npy", "y.npy", "../x.npy", "/x.npy", "x", "x.npy/", "X.npy", "a/x.npy"], rng.randint(1, 4)
        ):
            archive.writestr(name, rng.choice([honest_npy, lambda: lying_npy(rng), lambda: b"", honest_npz])())
        if rng.random() < 0.3:
            for count in range(rng.choice([3, 2000])):
                archive.writestr(f"{count}.npy", b"")
        archive.comment = rng.choice([b"", b"x" * 60_000, b"PK\5\6" + bytes(18)])
    raw = bytearray(file.getvalue())
    if rng.random() < 0.4:  # sizes, offsets, flags and checksums of the directory
        at = raw.rfind(b"PK\1\2")
        for _ in range(3):
            raw[at + rng.randrange(4, 46)] = rng.choice([0, 1, 0xFF])
    return bytes(raw)


def bomb(rng: random.Random) -> bytes:
    """Two hundred megabytes of one value."""
    file = io.BytesIO()
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({100 << 20}, 2), }}\n".encode()
    with (
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w", force_zip64=True) as member,
    ):
        member.write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header)
        for _ in range(200):
            member.write(bytes([rng.randrange(256)]) * (1 << 20))
    return file.getvalue()


def lying_safetensors(rng: random.Random) -> bytes:
    described: Any = {"x": {"dtype": "F32", "shape": [40, 2], "data_offsets": [0, 320]}, "__metadata__": {"a": "b"}}
    for _ in range(rng.randint(1, 2)):
        if list(trees.places(described)):
            rng.choice(trees.MUTATIONS)(described, described, rng)
    text = rng.choice(
        [json.dumps(described).encode()] * 6 + [b"[" * 200_000, b'{"x":' * 5000, b"", b"\xff", b"9" * 9000]
    )
    length = rng.choice([len(text)] * 6 + [0, 2**20 + 1, 2**40, 2**64 - 1])
    return length.to_bytes(8, "little") + text + rng.choice([X.tobytes(), b"", bytes(319), bytes(1 << 20)])


def lying_csv(rng: random.Random) -> bytes:
    row = "1.5,2.5\n"
    return rng.choice(
        [
            b"\xef\xbb\xbf" + honest_csv(),
            honest_csv().replace(b"\n", b"\r\n"),
            honest_csv().replace(b"\n", b"\r"),
            honest_csv().decode().encode("utf-16"),
            b"\n" * 3_000_000,
            b"a,b\n",
            b"," * 500_000 + b"\n" + b"," * 500_000,
            b"1," * 300_000 + b"1\n",
            b"1" * 2_000_000,
            b'"' + b"1,2\n" * 100_000,
            b'"1","2"\n' * 40,
            b'"a""b",c\n1,2\n3,4\n',
            f"{row * 20}1.5\n{row}".encode(),
            f"{row * 20}nan,1\n{row}".encode(),
            f"{row * 20}1e999,1\n".encode(),
            f"{row * 20}1_0,1\n".encode(),
            f"{row * 20}{'9' * 200_000},1\n".encode(),
            f"{row * 20}\0,1\n".encode(),
            f"{row * 20}\ud800,1\n".encode("utf-8", "surrogatepass"),
            "\u0661,\u0662\n\u0663,\u0664\n\u0665,\u0666\n".encode(),
            b"\x1b[2J,1\n1,2\n",
            b"a,a\n1,2\n3,4\n5,6\n",
            b"1;2\n3;4\n",
            b"1\n2\n3\n",
            (row * 2).encode(),
            row.encode(),
            b"\0" * 5000,
        ]
    )


LIES: dict[str, list[Callable[[random.Random], bytes]]] = {
    "csv": [lying_csv],
    "npz": [lying_npz, lying_npz, lying_npz, bomb],
    "npy": [lying_npy],
    "safetensors": [lying_safetensors],
}


# Files that are none --------------------------------------------------------------------------------------------------


def not_a_file(path: Path, rng: random.Random) -> None:
    """Something else under this name."""
    kind = rng.choice(["folder", "pipe", "loop", "nowhere", "zeros", "null", "memory", "holes", "nothing"])
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path.name)
        case "nowhere":
            path.symlink_to(path.parent.parent / "outside" / "new")
        case "zeros" | "null":
            path.symlink_to({"zeros": "/dev/zero", "null": "/dev/null"}[kind])
        case "memory":
            path.symlink_to("/proc/self/mem")
        case "holes":
            path.write_bytes(rng.choice([make for make, _ in HONEST.values()])())
            os.truncate(path, rng.choice([1 << 20, 1 << 28, 1 << 33, 1 << 42]))


def write_hostile_data(folder: Path, rng: random.Random) -> tuple[Path, str]:
    """A hostile data file, and the component that is to read it."""
    suffix = rng.choice([*HONEST, *HONEST, "npz", "celeba", "cifar10"])
    if suffix in ("celeba", "cifar10"):
        path = folder / ("data.npy" if suffix == "celeba" else "data_batch_1.bin")
        component = suffix
        suffix = "npy"
    else:
        path, component = folder / f"data.{suffix}", HONEST[suffix][1]
    chance = rng.random()
    if chance < 0.15:
        not_a_file(path, rng)
    elif chance < 0.55:
        path.write_bytes(rng.choice(LIES[suffix])(rng))
    else:
        content = HONEST[suffix][0]()
        for _ in range(rng.randint(1, 2)):
            content = rng.choice(DAMAGE)(content, rng) if content else content
        path.write_bytes(content)
    return path, component
