"""Samples in the formats that other programs read. Never a pickle."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from safetensors.torch import save as save_tensors
from torch import Tensor

from ebmkit.storage.atomic import make_folder, write_bytes, write_text


def write_samples(path: Path, x: Tensor, labels: Tensor | None = None) -> None:
    """Write states `(N, *event)` in the format that the suffix of `path` names (see `FORMATS`).

    Formats that hold several arrays have labels, where there are some, as `y`.
    """
    make_folder(path.parent)
    beside = {} if labels is None else {"y": labels.cpu().contiguous()}
    write_bytes(path, FORMATS[path.suffix](x.cpu().contiguous(), beside))


def write_draws(path: Path, x: Tensor, seen: Mapping[str, Tensor]) -> None:
    """Write the draws `(chains, draws, *event)` of long chains as JSON that `arviz.from_json` opens.

    The group `posterior` has `x`. Of what was seen, each `(chains, draws)`, `sample_stats` has the `energy` as
    `lp = -E`, the `acceptance` as `acceptance_rate` and the `divergence` as `diverging`, which is true or false. All
    digits are written, so that float32 and float64 come back as they were.
    """
    groups = {"posterior": {"x": x.tolist()}}
    if stats := {name: of(seen[ours]).tolist() for ours, (name, of) in STATS.items() if ours in seen}:
        groups["sample_stats"] = stats
    make_folder(path.parent)
    write_text(path, json.dumps(groups, allow_nan=False))


#: What a step saw -> its name in arviz, and its meaning there.
STATS: dict[str, tuple[str, Callable[[Tensor], Tensor]]] = {
    "energy": ("lp", lambda energy: -energy),
    "acceptance": ("acceptance_rate", lambda acceptance: acceptance),
    "divergence": ("diverging", lambda divergence: divergence > 0),  # the mean over the steps that thinning leaves out
}


def _npy(x: Tensor, beside: Mapping[str, Tensor]) -> bytes:
    content = io.BytesIO()
    np.save(content, x.numpy(), allow_pickle=False)
    return content.getvalue()


def _npz(x: Tensor, beside: Mapping[str, Tensor]) -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, x=x.numpy(), **{name: of.numpy() for name, of in beside.items()})
    return content.getvalue()


def _csv(x: Tensor, beside: Mapping[str, Tensor]) -> bytes:
    """A row a state, a column a coordinate, enough digits to come back to the same float32."""
    content, flat = io.BytesIO(), x.flatten(1).numpy()
    header = ",".join(f"x{column}" for column in range(flat.shape[1]))
    np.savetxt(content, flat, delimiter=",", header=header, comments="", fmt="%.9g")
    return content.getvalue()


FORMATS: dict[str, Callable[[Tensor, Mapping[str, Tensor]], bytes]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": _csv,
    ".safetensors": lambda x, beside: save_tensors({"x": x, **beside}),
}
