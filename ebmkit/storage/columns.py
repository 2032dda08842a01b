"""Tensors that grow row by row in files, and are read without being loaded into memory."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.atomic import make_folder, storing, sync_folder
from ebmkit.storage.regular import open_regular

#: Bytes of rows that are collected, on their device, before they are written; and rows before they are joined, because
#: a small tensor takes much more memory than its numbers.
BLOCK, ROWS = 1 << 22, 500
#: Bytes read at once.
PIECE = 1 << 22
#: Bytes before the first row: the length of the header, and the header, filled with spaces.
ROOM = 512

#: The dtypes that a column may have, by their names in safetensors.
DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class Column:
    """A tensor `(rows, *row)` in a safetensors file, which is valid once all rows have been written.

    A row that has been written is never changed, so a hash of the rows up to a point stays true.
    """

    def __init__(self, path: Path, rows: int, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        self.path, self.planned, self.shape, self.dtype = path, rows, shape, dtype
        #: The number of rows in the file.
        self.rows = 0
        self._row = torch.Size(shape).numel() * dtype.itemsize
        self._hash = hashlib.sha256()

    def append(self, block: Tensor) -> None:
        """Write more rows. They are safe after the next `mark`."""
        content = _bytes(block)
        header = b"" if self.rows else self._header()
        with storing(self.path, len(header) + len(content)):
            with self.path.open("ab" if self.rows else "xb") as file:
                file.write(header)
                file.write(content)
            if header:
                sync_folder(self.path.parent)
        self._hash.update(content)
        self.rows += len(block)

    def mark(self) -> dict[str, Any]:
        """How far it has grown, for a checkpoint: what is written is on the disk."""
        with storing(self.path), self.path.open("ab") as file:
            os.fsync(file.fileno())
        return {
            "rows": self.rows,
            "shape": list(self.shape),
            "dtype": _NAMES[self.dtype],
            "sha256": self._hash.hexdigest(),
        }

    @classmethod
    def reopened(cls, path: Path, rows: int, mark: dict[str, Any], source: Path | None = None) -> Column:
        """The column as it was at `mark`, in this file or copied from `source`. Rows after it are removed.

        Raises `StorageFailed` if the rows before the mark are not those that were written, and a ValueError if the
        mark is not one that `mark` makes.
        """
        if not all(type(number) is int and number >= 0 for number in (mark["rows"], *mark["shape"])):
            raise ValueError(f"{mark['rows']!r} rows of shape {mark['shape']!r}")
        column = cls(path, rows, tuple(mark["shape"]), DTYPES[mark["dtype"]])
        column.rows = mark["rows"]
        end = ROOM + column.rows * column._row
        origin = source or path
        with storing(origin), open_regular(origin, follow=False) as file:
            if os.fstat(file.fileno()).st_nlink > 1 and not source:  # an untrusted run could redirect our writes
                raise StorageFailed(f"{path}: has several names")
            file.seek(ROOM)
            left = end - ROOM
            while piece := file.read(min(PIECE, left)):
                column._hash.update(piece)
                left -= len(piece)
        if left or column._hash.hexdigest() != mark["sha256"]:
            raise StorageFailed(f"{origin}: damaged, its hash is not that of the checkpoint")
        if source:
            column._copy(source, end)
        else:
            with storing(path):
                os.truncate(path, end)
        return column

    def _copy(self, source: Path, end: int) -> None:
        with storing(self.path, end):
            self.path.unlink(missing_ok=True)  # of a later checkpoint, which could not be used
            with open_regular(source, follow=False) as old, self.path.open("xb") as new:
                new.write(self._header())
                old.seek(ROOM)
                for _ in range(ROOM, end, PIECE):
                    new.write(old.read(min(PIECE, end - old.tell())))
                new.flush()
                os.fsync(new.fileno())

    def _header(self) -> bytes:
        shape = [self.planned, *self.shape]
        entry = {"dtype": _NAMES[self.dtype], "shape": shape, "data_offsets": [0, self.planned * self._row]}
        text = json.dumps({self.path.stem: entry}).encode().ljust(ROOM - 8)
        return len(text).to_bytes(8, "little") + text


class Waiting:
    """Rows that are not written yet, on their device."""

    def __init__(self) -> None:
        self.count = self.bytes = 0
        self._rows: list[Tensor] = []
        self._joined: list[Tensor] = []

    def add(self, row: Tensor) -> None:
        """One more row."""
        self._rows.append(row)
        self.count += 1
        self.bytes += row.numel() * row.element_size()
        if len(self._rows) == ROWS:
            self._joined.append(torch.stack(self._rows))
            self._rows = []

    def block(self) -> Tensor:
        """All of them, `(count, ...)`."""
        rest = [torch.stack(self._rows)] if self._rows else []
        return torch.cat([*self._joined, *rest])


class Columns:
    """The columns of a folder, which all have the same number of rows when they are complete.

    Rows are collected on their device and written in blocks, so that a step of a chain never waits for the host.
    """

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder, self.planned = folder, rows
        self._columns: dict[str, Column] = {}
        self._waiting: dict[str, Waiting] = {}

    def add(self, name: str, row: Tensor) -> None:
        """One more row of the column `name`."""
        waiting = self._waiting.setdefault(name, Waiting())
        waiting.add(row)
        if waiting.bytes >= BLOCK:
            self._write(name)

    def rows(self, name: str) -> int:
        """The number of rows of a column."""
        written = self._columns[name].rows if name in self._columns else 0
        return written + (self._waiting[name].count if name in self._waiting else 0)

    def column(self, name: str) -> Tensor:
        """All rows of a complete column, chains first, mapped from the file: `(chains, rows, ...)`."""
        self._write(name)
        return mapped(column_file(self.folder, name))

    def marks(self) -> dict[str, Any]:
        """Write everything, and say how far each column has grown."""
        for name in list(self._waiting):
            self._write(name)
        return {name: column.mark() for name, column in self._columns.items()}

    def restore(self, marks: dict[str, Any], source: Path | None = None) -> None:
        """The columns as they were when these marks were made, in this folder or copied from `source`.

        Raises `StorageFailed` if they are damaged.
        """
        make_folder(self.folder)
        found = {}
        for name, mark in marks.items():
            if not name.isidentifier():  # no file outside the folder
                raise StorageFailed(f"{self.folder}: {name!r} is not the name of a column")
            origin = column_file(source, name) if source else None
            found[name] = Column.reopened(column_file(self.folder, name), self.planned, mark, origin)
        self._columns, self._waiting = found, {}

    def clear(self) -> None:
        """Start with empty columns; files of the same names are replaced."""
        make_folder(self.folder)
        self._columns, self._waiting = {}, {}

    def drop(self, name: str) -> None:
        """Delete a column, if there is one."""
        self._waiting.pop(name, None)
        self._columns.pop(name, None)
        path = column_file(self.folder, name)
        with storing(path):
            path.unlink(missing_ok=True)

    def _write(self, name: str) -> None:
        if name not in self._waiting:
            return
        block = self._waiting.pop(name).block().cpu()
        if name not in self._columns:
            path = column_file(self.folder, name)
            with storing(path):  # a new file: not one that a link of this name leads to
                path.unlink(missing_ok=True)
            self._columns[name] = Column(path, self.planned, tuple(block.shape[1:]), block.dtype)
        self._columns[name].append(block)


def column_file(folder: Path, name: str) -> Path:
    """The file of a column."""
    return folder / f"{name}.safetensors"


def mapped(path: Path) -> Tensor:
    """A complete column, chains first. It is read when it is used, and changes to it stay in memory."""
    with storing(path), open_regular(path, follow=False):
        pass
    try:
        with safe_open(path, framework="pt") as file:
            rows: Tensor = file.get_tensor(path.stem)
        return rows.transpose(0, 1)
    except (SafetensorError, IndexError, OSError) as error:
        raise StorageFailed(f"{path}: damaged: {error}") from error


def _bytes(block: Tensor) -> memoryview:
    return block.contiguous().reshape(-1).view(torch.uint8).numpy().data
