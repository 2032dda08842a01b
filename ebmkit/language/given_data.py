"""Points that Python passed as `data=`: arrays, tensors, tables, alone or with labels."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple

from ebmkit.errors.source import Place, Source
from ebmkit.errors.text import NotASpec

if TYPE_CHECKING:
    import numpy as np

    from ebmkit.language.enclosed import Enclosed

_PLACE = Place(Source("data", "", shown="data"), 1, 1)
_HELP = "pass an array or tensor of points (N, *event), a table with numeric columns, or a pair (x, labels)"


class Named(NamedTuple):
    """An array, and the names of its columns if a table has brought some."""

    numbers: np.ndarray[Any, Any]
    columns: tuple[str, ...] | None = None


def data_flags(data: Any, enclosed: Enclosed) -> list[Source]:
    """The changes to a spec by which it reads these points, which are written to a file first.

    Parameters of the spec's own `data` stay if it names no component: `{"test_fraction": 0.1}`.
    """
    import numpy as np

    pair = isinstance(data, tuple) and len(data) == 2 and not _is_number(data[0])
    points, labels = data if pair else (data, None)
    x = _points(points)
    arrays: dict[str, Any] = {"x": x.numbers}
    if x.columns is not None:
        arrays["columns"] = np.array(x.columns, dtype=np.str_)
    if labels is not None:
        arrays |= _labels(labels, len(x.numbers))
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    changes = {"use": "npz", "path": enclosed.add("data", ".npz", content.getvalue())}
    changes |= {} if labels is None else {"y": "y"}
    return [Source("data", f"data.{name}={value}", shown="data") for name, value in changes.items()]


def _points(data: Any) -> Named:
    import numpy as np

    columns = getattr(data, "columns", None)
    names = None if columns is None else tuple(str(name) for name in columns)
    x = _array(data)
    if names is not None and x.dtype.kind == "O" and not _odd_column(data, names):
        x = np.stack([column.astype(np.float64) for column in _columns(data, names)], axis=1)  # of several types
    if x.dtype.kind not in "biuf":
        odd = "" if names is None else _odd_column(data, names)
        raise NotASpec(f"{odd or f'an array of {x.dtype} has no points'}", _PLACE, help=_HELP)
    return Named(x, names)


def _labels(labels: Any, count: int) -> dict[str, Any]:
    """Integers, or words, which are numbered in sorted order as those of a CSV file are."""
    import numpy as np

    y = _array(labels)
    if y.shape != (count,):
        raise NotASpec(f"labels of shape {y.shape} for {count} points, one each is expected", _PLACE)
    if y.dtype.kind in "OUS":
        names, numbers = np.unique(y.astype(np.str_), return_inverse=True)
        return {"y": numbers.astype(np.int64), "classes": names}
    if y.dtype.kind not in "biu":
        raise NotASpec(f"labels are integers or words, not {y.dtype}", _PLACE)
    return {"y": y.astype(np.int64)}


def _array(data: Any) -> np.ndarray[Any, Any]:
    """The numbers of an array, a tensor, a table or a list of numbers."""
    import numpy as np

    try:
        if hasattr(data, "detach"):  # a tensor, perhaps with a graph, on a GPU, or of a type that numpy lacks
            data = data.detach().cpu()
            data = data.float() if str(data.dtype) == "torch.bfloat16" else data
        x = data.to_numpy() if hasattr(data, "to_numpy") else np.asarray(data)
        return np.ascontiguousarray(x)
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
        raise NotASpec(f"{type(data).__name__} is not an array: {error}", _PLACE, help=_HELP) from error


def _columns(table: Any, names: tuple[str, ...]) -> list[np.ndarray[Any, Any]]:
    positions = range(len(names)) if hasattr(table, "iloc") else ()  # of pandas, whose names may be numbers
    return [_array(table.iloc[:, each]) for each in positions] or [_array(table[name]) for name in names]


def _odd_column(table: Any, names: tuple[str, ...]) -> str:
    """Which column of a table is not numeric; empty if all are."""
    odd = (name for name, of in zip(names, _columns(table, names), strict=True) if of.dtype.kind not in "biuf")
    name = next(odd, None)
    return "" if name is None else f"column '{name}' is not numeric"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))
