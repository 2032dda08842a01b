"""`tensorboard`: what is written is what TensorBoard shows, also after a run went on from a checkpoint."""

import math
import os

import pytest
import torch

from ebmkit.components.trackers.tensorboard import TensorBoard


@pytest.fixture
def shown():
    """What TensorBoard's own reader finds in a run's folder: `{name: [(step, value), ...]}`."""
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="tensorboard is an extra: pip install 'ebmkit-core[tensorboard]'",
    )

    def read(folder):
        events = accumulator.EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0}).Reload()
        found = {name: [(e.step, e.value) for e in events.Scalars(name)] for name in events.Tags()["scalars"]}
        return {name: points for name, points in found.items() if points}

    return read


def single(value):
    return float(torch.tensor(value, dtype=torch.float32))


def test_what_is_written_is_shown(tmp_path, shown):
    log = TensorBoard().open(tmp_path, [])
    log.write(1, {"loss": 0.1, "log_z": -math.pi})
    log.write(2, {"loss": 1e-30})
    log.close()
    assert shown(tmp_path) == {"loss": [(1, single(0.1)), (2, single(1e-30))], "log_z": [(1, single(-math.pi))]}


def test_what_is_synced_is_on_the_disk_before_it_is_closed(tmp_path, shown, monkeypatch):
    log = TensorBoard().open(tmp_path, [])
    for step in range(5):
        log.write(step, {"loss": float(step)})
    calls, flush, fsync = [], log._writer.flush, os.fsync
    # TensorBoard writes in a thread of its own, which is usually quick enough: only the order tells.
    monkeypatch.setattr(log._writer, "flush", lambda: (calls.append("flush"), flush()))
    monkeypatch.setattr(os, "fsync", lambda descriptor: (calls.append("fsync"), fsync(descriptor)))
    log.sync()
    assert calls == ["flush", "fsync", "fsync"]  # the file, and the folder that names it
    assert shown(tmp_path)["loss"] == [(step, float(step)) for step in range(5)]
    log.close()


def test_a_run_that_goes_on_forgets_what_lay_behind_its_checkpoint(tmp_path, shown):
    log = TensorBoard().open(tmp_path, [])
    for step in range(1, 8):
        log.write(step, {"loss": float(step)})
    log.write(4, {"mmd": 99.0})  # at the step of the checkpoint, but behind it
    log.close()
    records = [(step, {"loss": float(step)}) for step in range(1, 5)]
    log = TensorBoard().open(tmp_path, records)
    log.write(5, {"loss": -5.0})
    log.close()
    expected = [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0), (5, -5.0)]
    assert shown(tmp_path) == {"loss": expected}
    TensorBoard().open(tmp_path, [*records, (5, {"loss": -5.0}), (5, {"mmd": 2.0})]).close()
    assert shown(tmp_path) == {"loss": expected, "mmd": [(5, 2.0)]}


def test_a_run_that_begins_again_forgets_everything(tmp_path, shown):
    for value in (1.0, 2.0):
        log = TensorBoard().open(tmp_path, [])
        log.write(1, {"loss": value})
        log.close()
    assert shown(tmp_path) == {"loss": [(1, 2.0)]}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_by_name(tmp_path, shown, value):
    log = TensorBoard().open(tmp_path, [])
    with pytest.raises(ValueError, match="step 7: gap is not finite"):
        log.write(7, {"loss": 1.0, "gap": value})
    log.close()
    assert shown(tmp_path) == {}
