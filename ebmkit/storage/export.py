"""Export of samples in formats that other programs read; never as a pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from safetensors.torch import save as save_tensors
from torch import Tensor

from ebmkit.storage.atomic import make_folder, write_bytes, write_text
from ebmkit.storage.zarr import write_zarr


def write_samples(path: Path, x: Tensor, labels: Tensor | None = None) -> None:
    """Write states `(N, *event)` in the format given by the suffix of `path` (see `FORMATS`).

    Formats that hold several arrays also contain the labels, if any, as `y`.
    """
    make_folder(path.parent)
    others = {} if labels is None else {"y": labels.cpu().contiguous()}
    write_bytes(path, FORMATS[path.suffix](x.cpu().contiguous(), others))


def write_draws(path: Path, x: Tensor, seen: Mapping[str, Tensor]) -> None:
    """Write the draws `(chains, draws, *event)` of long chains for ArviZ: as a Zarr store, which ArviZ from 1.0 on and
    xarray open, or as JSON for `arviz.from_json`, which ArviZ had before 1.0.

    JSON has all digits, so that float32 and float64 values are restored exactly.
    """
    make_folder(path.parent)
    groups = arviz_groups(x, seen)
    if path.suffix == ".zarr":
        write_zarr(path, groups)
        return
    lists = {group: {name: of.tolist() for name, of in arrays.items()} for group, arrays in groups.items()}
    write_text(path, json.dumps(lists, allow_nan=False))


def arviz_groups(x: Tensor, seen: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """The draws in the groups and with the names of ArviZ.

    The group `posterior` has `x`. The group `sample_stats` has the statistics in `seen`, each `(chains, draws)`:
    `energy` as `lp = -E`, `acceptance` as `acceptance_rate`, and `divergence` as the boolean `diverging`.
    """
    stats = {name: of(seen[ours]) for ours, (name, of) in STATS.items() if ours in seen}
    return {"posterior": {"x": x}, **({"sample_stats": stats} if stats else {})}


#: Statistic of a step -> its name in ArviZ, and the conversion.
STATS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "energy": ("lp", lambda energy: -energy),
    "acceptance": ("acceptance_rate", lambda acceptance: acceptance),
    "divergence": ("diverging", lambda divergence: divergence > 0),  # a mean over all steps since the draw before
}


def _npy(x: Tensor, others: Mapping[str, Tensor]) -> bytes:
    content = io.BytesIO()
    np.save(content, x.numpy(), allow_pickle=False)
    return content.getvalue()


def _npz(x: Tensor, others: Mapping[str, Tensor]) -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, x=x.numpy(), **{name: of.numpy() for name, of in others.items()})
    return content.getvalue()


def _csv(x: Tensor, others: Mapping[str, Tensor]) -> bytes:
    """One row per state, one column per coordinate, with enough digits to restore every float32 exactly."""
    content, flat = io.BytesIO(), x.flatten(1).numpy()
    header = ",".join(f"x{column}" for column in range(flat.shape[1]))
    np.savetxt(content, flat, delimiter=",", header=header, comments="", fmt="%.9g")
    return content.getvalue()


FORMATS: dict[str, Callable[[Tensor, Mapping[str, Tensor]], bytes]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": _csv,
    ".safetensors": lambda x, others: save_tensors({"x": x, **others}),
}
