"""Samples in the formats that other programs read. Never a pickle."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
from safetensors.torch import save as save_tensors
from torch import Tensor

from ebmkit.storage import make_folder, write_bytes


def write_samples(path: Path, x: Tensor) -> None:
    """Write states `(N, *event)` in the format that the suffix of `path` names (see `FORMATS`)."""
    make_folder(path.parent)
    write_bytes(path, FORMATS[path.suffix](x.cpu().contiguous()))


def _npy(x: Tensor) -> bytes:
    content = io.BytesIO()
    np.save(content, x.numpy(), allow_pickle=False)
    return content.getvalue()


def _npz(x: Tensor) -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, x=x.numpy())
    return content.getvalue()


def _csv(x: Tensor) -> bytes:
    """A row a state, a column a coordinate, enough digits to come back to the same float32."""
    content, flat = io.BytesIO(), x.flatten(1).numpy()
    header = ",".join(f"x{column}" for column in range(flat.shape[1]))
    np.savetxt(content, flat, delimiter=",", header=header, comments="", fmt="%.9g")
    return content.getvalue()


FORMATS: dict[str, Callable[[Tensor], bytes]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": _csv,
    ".safetensors": lambda x: save_tensors({"x": x}),
}
