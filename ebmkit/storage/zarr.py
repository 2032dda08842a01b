"""Zarr stores, version 2: JSON and raw bytes, written without the zarr library.

A store is a folder, and an array in it a folder with its shape in `.zarray` and one file for each chunk. xarray opens a
store as a tree of groups, and ArviZ from 1.0 on as the draws of chains. Another program can append draws to it.

Reference: Zarr storage specification, version 2; the convention of xarray for the names of axes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from ebmkit.contracts.version import __version__
from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import make_folder, move_folder, remove_folder, write_bytes

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

#: Bytes of a chunk: few files, of which each can be read into memory.
CHUNK = 1 << 24
VERSION = {"zarr_format": 2}
#: All metadata in one file, which readers look for first.
CONSOLIDATED = ".zmetadata"


def write_zarr(
    path: Path, groups: Mapping[str, Mapping[str, Tensor]], names: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Write groups of arrays `(chains, draws, ...)`, in chunks of draws, so that none has to be in memory as a whole.
    Positions along an axis have the `names` of the axis, or are counted.

    They are written to a temporary folder, which is renamed at the end. A store of the same name is replaced; another
    folder of this name is not.
    """
    if path.is_dir() and not (path / ".zgroup").is_file():
        raise StorageFailed(f"{path}: a folder that is not a Zarr store, which is not replaced")
    make_folder(path.parent)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    shutil.rmtree(temporary, ignore_errors=True)  # of a killed process with the same number
    try:
        _write_store(temporary, groups, names or {})
        if path.is_dir():
            remove_folder(path)
        elif path.exists():
            path.unlink()
        move_folder(temporary, path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _write_store(folder: Path, groups: Mapping[str, Mapping[str, Tensor]], names: Mapping[str, Sequence[str]]) -> None:
    metadata: dict[str, Any] = {}

    def note(name: str, content: Mapping[str, Any]) -> None:
        metadata[name] = content
        write_bytes(folder / name, _json(content))

    made_by = {"inference_library": "ebmkit", "inference_library_version": __version__}
    make_folder(folder)
    note(".zgroup", VERSION)
    note(".zattrs", made_by)
    for group, arrays in groups.items():
        make_folder(folder / group)
        note(f"{group}/.zgroup", VERSION)
        note(f"{group}/.zattrs", made_by)
        sides: dict[str, int] = {}
        for name, values in arrays.items():
            axes = ["chain", "draw", *(f"{name}_dim_{axis}" for axis in range(values.dim() - 2))]
            sides |= dict(zip(axes, values.shape, strict=True))
            _write_array(f"{group}/{name}", axes, values, folder, note)
        for axis, side in sides.items():
            if axis in names:
                _write_names(f"{group}/{axis}", axis, names[axis], folder, note)
            else:
                _write_array(f"{group}/{axis}", [axis], torch.arange(side), folder, note)
    write_bytes(folder / CONSOLIDATED, _json({"zarr_consolidated_format": 1, "metadata": metadata}))


def _write_array(
    name: str, axes: list[str], values: Tensor, folder: Path, note: Callable[[str, Mapping[str, Any]], None]
) -> None:
    """One array in chunks along the axis of draws. The last chunk is filled up with zeros."""
    along = min(1, values.dim() - 1)
    a_draw = max(1, values.numel() // max(1, values.shape[along])) * values.element_size()
    chunks = [max(1, side) for side in values.shape]
    chunks[along] = min(chunks[along], max(1, CHUNK // a_draw))
    make_folder(folder / name)
    for number, block in enumerate(torch.split(values, chunks[along], dim=along)):
        part = _numpy(block)
        padded = np.zeros(chunks, part.dtype)
        padded[tuple(slice(side) for side in part.shape)] = part
        place = ".".join(str(number if axis == along else 0) for axis in range(values.dim()))
        write_bytes(folder / name / place, padded.tobytes())
    _describe(name, axes, [*values.shape], chunks, _numpy(values[:0]).dtype, note)


def _write_names(
    name: str, axis: str, values: Sequence[str], folder: Path, note: Callable[[str, Mapping[str, Any]], None]
) -> None:
    """The names of the positions along an axis, in one chunk: characters of four bytes each."""
    words = np.array(values, dtype=np.str_)
    words = words.astype(words.dtype.newbyteorder("<"))
    make_folder(folder / name)
    write_bytes(folder / name / "0", words.tobytes())
    _describe(name, [axis], [len(words)], [len(words)], words.dtype, note)


def _describe(
    name: str,
    axes: list[str],
    shape: list[int],
    chunks: list[int],
    dtype: np.dtype[Any],
    note: Callable[[str, Mapping[str, Any]], None],
) -> None:
    note(f"{name}/.zattrs", {"_ARRAY_DIMENSIONS": axes})
    note(
        f"{name}/.zarray",
        {
            **VERSION,
            "shape": shape,
            "chunks": chunks,
            "dtype": dtype.newbyteorder("<").str,
            "fill_value": None,  # xarray would take every number that is equal to it for a missing one
            "order": "C",
            "filters": None,
            "compressor": None,
        },
    )


def _numpy(block: Tensor) -> Array:
    block = block.float() if block.dtype == torch.bfloat16 else block  # which numpy lacks
    found: Array = block.cpu().contiguous().numpy()
    return found.astype(found.dtype.newbyteorder("<"), copy=False)


def _json(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, indent=1, allow_nan=False).encode()
