"""`jsonl`: what is written reads back to the same bits, and what is not a number is not written."""

import json
import math
import os
import tracemalloc

import pytest

from ebmkit.components.trackers.jsonl import Jsonl, read_records
from ebmkit.errors.running import StorageFailed
from ebmkit.testing import tracked_run


def test_lines_read_back_to_the_same_bits(tmp_path):
    values = {"loss": 0.1 + 0.2, "tiny": 5e-324, "huge": 1.7976931348623157e308, "log_z": -math.pi}
    log = Jsonl().open(tracked_run(tmp_path))
    log.write(1, values)
    assert json.loads((tmp_path / "metrics.jsonl").read_text()) == {"step": 1, **values}  # before it is closed
    log.write(2, {"loss": 1.0})
    log.close()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2]


def test_opening_again_goes_on_behind_what_counts(tmp_path):
    log = Jsonl().open(tracked_run(tmp_path))
    for step in (1, 2, 3):
        log.write(step, {"loss": 0.1 * step})
    log.sync()
    log.close()
    whole = (tmp_path / "metrics.jsonl").read_bytes()
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4, "lo')  # killed in the middle of a line
    log = Jsonl().open(tracked_run(tmp_path, [(1, {"loss": 0.1}), (2, {"loss": 0.2})]))
    log.write(3, {"loss": 0.1 * 3})
    log.close()
    assert (tmp_path / "metrics.jsonl").read_bytes() == whole


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_by_name(tmp_path, value):
    log = Jsonl().open(tracked_run(tmp_path))
    with pytest.raises(ValueError, match="step 7: gap is not finite"):
        log.write(7, {"loss": 1.0, "gap": value})
    log.close()
    assert (tmp_path / "metrics.jsonl").read_text() == ""


def test_an_empty_file_of_any_size_takes_no_memory(tmp_path):
    (tmp_path / "metrics.jsonl").touch()
    os.truncate(tmp_path / "metrics.jsonl", 200 << 20)
    tracemalloc.start()
    with pytest.raises(StorageFailed, match="expands from 0 bytes on disk"):
        read_records(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
