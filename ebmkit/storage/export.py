"""Export of samples in formats that other programs read; never as a pickle."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.torch import save as save_tensors
from torch import Tensor

from ebmkit.storage.atomic import make_folder, write_bytes, write_text
from ebmkit.storage.headings import PLAIN, Headings
from ebmkit.storage.zarr import write_zarr

#: The axis of the coordinates of a vector, as ArviZ names it.
AXIS = "x_dim_0"


class Samples(NamedTuple):
    """States `(N, *event)` on the CPU, and what is known about them."""

    x: Tensor
    labels: Tensor | None
    headings: Headings

    def arrays(self) -> dict[str, Tensor]:
        """The states, and their labels, if any, as `y`."""
        return {"x": self.x} if self.labels is None else {"x": self.x, "y": self.labels}


def write_samples(path: Path, x: Tensor, labels: Tensor | None = None, headings: Headings = PLAIN) -> None:
    """Write states `(N, *event)`, their labels and names in the format given by the suffix of `path` (see `FORMATS`).

    A .npz has the labels as `y` and the names as `columns`, `classes` and `categories`, a .safetensors the names in its
    metadata, as JSON under `names`, and a .csv all of them; a .npy has the states only. Names of categories are those
    of the values 0, 1, ... of all units, or a row for each unit.
    """
    make_folder(path.parent)
    whole = Samples(x.cpu().contiguous(), None if labels is None else labels.cpu().contiguous(), headings)
    write_bytes(path, FORMATS[path.suffix](whole))


def write_draws(path: Path, x: Tensor, seen: Mapping[str, Tensor], coordinates: tuple[str, ...] | None = None) -> None:
    """Write the draws `(chains, draws, *event)` of long chains for ArviZ: as a Zarr store, which ArviZ from 1.0 on and
    xarray open, or as JSON for `arviz.from_json`, which ArviZ had before 1.0.

    JSON has all digits, so that float32 and float64 values are restored exactly. The names of the coordinates of a
    vector are those of the axis `x_dim_0`.
    """
    make_folder(path.parent)
    groups = arviz_groups(x, seen)
    if path.suffix == ".zarr":
        write_zarr(path, groups, {AXIS: coordinates} if coordinates else {})
        return
    lists: dict[str, Any] = {
        group: {name: of.tolist() for name, of in arrays.items()} for group, arrays in groups.items()
    }
    write_text(path, json.dumps(lists | arviz_names(coordinates), allow_nan=False))


def arviz_names(coordinates: tuple[str, ...] | None) -> dict[str, Any]:
    """The names of coordinates, as arguments of `arviz.from_dict`; empty without names."""
    return {"coords": {AXIS: [*coordinates]}, "dims": {"x": [AXIS]}} if coordinates else {}


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


def _npy(samples: Samples) -> bytes:
    content = io.BytesIO()
    np.save(content, samples.x.numpy(), allow_pickle=False)
    return content.getvalue()


def _npz(samples: Samples) -> bytes:
    arrays = {name: of.numpy() for name, of in samples.arrays().items()}
    names = {"columns": samples.headings.coordinates, "classes": samples.headings.classes}
    arrays |= {name: np.array(of, dtype=np.str_) for name, of in names.items() if of is not None}
    if samples.headings.categories is not None:
        shared = samples.headings.one_alphabet
        every = samples.headings.categories
        arrays["categories"] = np.array(every[0] if shared else _padded(every), dtype=np.str_)
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def _csv(samples: Samples) -> bytes:
    """One row per state, one column per coordinate and one for labels, with enough digits to restore every number, or
    the names of categories."""
    content, flat = io.StringIO(), samples.x.flatten(1).numpy()
    table = csv.writer(content, lineterminator="\n")
    coordinates, classes, label, categories = samples.headings
    header = [*(coordinates or (f"x{column}" for column in range(flat.shape[1])))]
    table.writerow(header if samples.labels is None else [*header, label or "y"])
    form = "%.17g" if flat.dtype == np.float64 else "%.9g"
    labels = [] if samples.labels is None else samples.labels.tolist()
    last: Iterable[list[Any]] = ([classes[y] if classes else y] for y in labels) if labels else ([] for _ in flat)
    for row, more in zip(flat, last, strict=True):
        cells = [form % number for number in row] if categories is None else _named(row, categories)
        table.writerow([*cells, *more])
    return content.getvalue().encode()


def _named(row: Iterable[float], categories: Sequence[Sequence[str]]) -> list[str]:
    """The names of the categories of a state. A column of a table may have fewer than the model knows."""
    found = zip(map(int, row), categories, strict=True)
    return [names[number] if number < len(names) else str(number) for number, names in found]


def _padded(categories: Sequence[Sequence[str]]) -> Sequence[Sequence[str]]:
    """Lists of the same length, as an array needs them."""
    longest = max(map(len, categories))
    return [[*names, *[""] * (longest - len(names))] for names in categories]


FORMATS: dict[str, Callable[[Samples], bytes]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": _csv,
    ".safetensors": lambda samples: save_tensors(samples.arrays(), samples.headings.metadata() or None),
}
