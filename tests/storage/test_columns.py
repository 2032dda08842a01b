"""Tensors that grow row by row in files."""

import pytest
import torch

from ebmkit.errors.running import StorageFailed
from ebmkit.storage.columns import Columns, column_file, mapped


@pytest.fixture
def written(tmp_path):
    """Columns with six of eight rows, and their marks after three rows and after six."""
    columns = Columns(tmp_path / "first", 8)
    columns.clear()
    marks = []
    for row in range(6):
        for name in ("x", "y"):
            columns.add(name, torch.full((2,), float(row)))
        if row in (2, 5):
            marks.append(columns.marks())
    return columns, marks


@pytest.mark.parametrize("change", [{"rows": -1}, {"rows": True}, {"rows": 2.0}, {"shape": [-2]}, {"shape": [True]}])
def test_a_mark_with_odd_numbers_is_refused_before_anything_is_read(change, written, tmp_path, monkeypatch):
    columns, (early, _) = written
    monkeypatch.setattr("ebmkit.storage.columns.open_regular", lambda *_, **__: pytest.fail("the file was opened"))
    with pytest.raises(ValueError, match="rows of shape"):
        columns.restore({"x": {**early["x"], **change}})


def test_a_copy_goes_back_to_an_earlier_mark_if_the_later_one_cannot_be_used(written, tmp_path):
    source, (early, late) = written
    copy = Columns(tmp_path / "second", 8)
    with pytest.raises(StorageFailed, match="damaged"):
        copy.restore({**late, "y": {**late["y"], "sha256": "0"}}, source.folder)
    copy.restore(early, source.folder)
    for _ in range(5):
        copy.add("x", torch.zeros(2))
    assert copy.column("x")[0].tolist() == [0, 1, 2, 0, 0, 0, 0, 0]


def test_a_column_that_another_process_left_is_deleted_too(written):
    columns, _ = written
    again = Columns(columns.folder, 8)
    again.drop("y")
    assert not column_file(columns.folder, "y").exists()
    with pytest.raises(StorageFailed, match="No such file"):
        mapped(column_file(columns.folder, "y"))
