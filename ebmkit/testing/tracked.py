"""A run for testing trackers, without one."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ebmkit.contracts.kinds import TrackedRun


def tracked_run(
    folder: Path, records: Sequence[tuple[int, dict[str, float]]] = (), step: int | None = None
) -> TrackedRun:
    """What `Tracker.open` is given: a new run in a folder, or one that is resumed with these records.

    By default it is resumed at the step of the last record.
    """
    spec: dict[str, Any] = {
        "ebmkit": 1,
        "name": "tracked",
        "seed": 0,
        "model": {"use": "mlp", "hidden": [64, 64], "activation": "silu"},
        "train": {"steps": 10, "optimizer": {"use": "adam", "lr": 1e-3, "fused": None}},
    }
    text = "ebmkit: 1\nname: tracked\nmodel: {use: mlp}\n"
    reached = records[-1][0] if records and step is None else step or 0
    return TrackedRun(
        folder=folder,
        name="tracked",
        seed=0,
        hash="0" * 64,
        spec=spec,
        text=text,
        steps=10,
        step=reached,
        records=list(records),
    )


def small_picture(shade: int = 0) -> bytes:
    """A grey PNG of 2 x 2 pixels."""
    header = struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0)
    pixels = zlib.compress(bytes([0, shade, shade]) * 2)
    chunks = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )
