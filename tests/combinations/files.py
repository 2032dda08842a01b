"""Data files for random specs: tables, arrays and images of a few rows."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

ROWS = (1, 2, 3, 5, 8, 40, 40)
SHAPES = ((), (1,), (2,), (2,), (3,), (1, 2, 2), (1, 8, 8), (3, 4, 4))


def write_files(folder: Path, rng: random.Random) -> dict[str, dict[str, Any]]:
    """Write one file for every data component that reads files; returns the parameters that name it."""
    folder.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(rng.randrange(1 << 30))
    shape, rows = rng.choice(SHAPES), rng.choice(ROWS)
    x = noise.normal(1, 2, (rows, *shape)).astype("float32")
    # Whether columns are constant or depend on each other is not known before the rows are read, so they never do.
    levels = (5 if rows == max(ROWS) else 256) if rng.random() < 0.3 else None
    if levels:
        ordered = np.broadcast_to(np.arange(rows).reshape(rows, *[1] * len(shape)), (rows, *shape))
        x = noise.permuted(ordered, axis=0) * (1 if levels == 5 else 31) % levels
    y = np.arange(rows) % (rng.choice([2, 10]) if rows == max(ROWS) else 10)
    np.savez(folder / "rows.npz", x=x, y=y)
    np.save(folder / "rows.npy", x)
    save_file({"x": np.ascontiguousarray(x)}, folder / "rows.safetensors")
    flat = x.reshape(rows, -1)
    head = [",".join(f"c{k}" for k in range(flat.shape[1]))] if rng.random() < 0.5 else []
    (folder / "rows.csv").write_text("\n".join([*head, *(",".join(map(str, row)) for row in flat)]) + "\n")
    (folder / "letters.txt").write_text("abc" * 3 + "".join(rng.choice("abc") for _ in range(rng.choice([30, 300]))))
    words = [",".join(rng.choice(["red", "green", "blue"]) for _ in range(3)) for _ in range(max(rows, 3))]
    (folder / "words.csv").write_text(
        "\n".join(["a,b,c", "red,green,blue", "green,blue,red", "blue,red,green", *words])
    )
    scaled = {"dequantize": levels if levels and rng.random() < 0.7 else None}
    array = rng.choice(["rows.npy", "rows.safetensors"])
    return {
        "npz": {"path": str(folder / "rows.npz"), "y": rng.choice(["y", None]), **scaled},
        "csv": {"path": str(folder / "rows.csv"), **scaled},
        "tensor_file": {"path": str(folder / array), **scaled},
        "text": {"path": str(folder / "letters.txt"), "alphabet": None, "test_path": None},
        "categorical_csv": {"path": str(folder / "words.csv"), "columns": None, "header": True, "test_path": None},
        "celeba": {"path": str(folder / "celeba.npy")},
        "cifar10": {"folder": str(folder / "cifar10")},
    }


def write_archives(folder: Path) -> dict[str, dict[str, Any]]:
    """Files in the formats of the large data sets: CelebA of two pixels, CIFAR-10 of noise. They take 190 MB."""
    folder.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(0)
    np.save(folder / "celeba.npy", noise.integers(0, 256, (202_599, 3, 2, 2), dtype="uint8"))
    names = [*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]
    (folder / "cifar10").mkdir(exist_ok=True)
    for name in names:
        images = noise.integers(0, 256, (10_000, 3073), dtype="uint8")
        images[:, 0] %= 10
        (folder / "cifar10" / name).write_bytes(images.tobytes())
    return {
        "celeba": {"path": str(folder / "celeba.npy"), "side": 2},
        "cifar10": {"folder": str(folder / "cifar10"), "labels": [3]},
    }
