"""`tensorboard`: what is written is what TensorBoard shows, also after a run went on from a checkpoint."""

import math
import os

import pytest
import torch

from ebmkit.components.trackers.tensorboard import TensorBoard
from ebmkit.testing import tracked_run
from ebmkit.testing.tracked import small_picture


@pytest.fixture
def events():
    """TensorBoard's own reader of a run's folder."""
    accumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator",
        reason="tensorboard is an extra: pip install 'ebmkit-core[tensorboard]'",
    )
    every = {"scalars": 0, "images": 0, "tensors": 0}
    return lambda folder: accumulator.EventAccumulator(str(folder / "tensorboard"), size_guidance=every).Reload()


@pytest.fixture
def shown(events):
    """The scalars that it finds: `{name: [(step, value), ...]}`."""

    def read(folder):
        events_of = events(folder)
        found = {name: [(e.step, e.value) for e in events_of.Scalars(name)] for name in events_of.Tags()["scalars"]}
        return {name: points for name, points in found.items() if points}

    return read


def single(value):
    return float(torch.tensor(value, dtype=torch.float32))


def test_what_is_written_is_shown(tmp_path, shown):
    log = TensorBoard().open(tracked_run(tmp_path))
    log.write(1, {"loss": 0.1, "log_z": -math.pi})
    log.write(2, {"loss": 1e-30})
    log.close()
    assert shown(tmp_path) == {"loss": [(1, single(0.1)), (2, single(1e-30))], "log_z": [(1, single(-math.pi))]}


def test_what_is_synced_is_on_the_disk_before_it_is_closed(tmp_path, shown, monkeypatch):
    log = TensorBoard().open(tracked_run(tmp_path))
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
    log = TensorBoard().open(tracked_run(tmp_path))
    for step in range(1, 8):
        log.write(step, {"loss": float(step)})
    log.write(4, {"mmd": 99.0})  # at the step of the checkpoint, but behind it
    log.close()
    records = [(step, {"loss": float(step)}) for step in range(1, 5)]
    log = TensorBoard().open(tracked_run(tmp_path, records))
    log.write(5, {"loss": -5.0})
    log.close()
    expected = [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.0), (5, -5.0)]
    assert shown(tmp_path) == {"loss": expected}
    TensorBoard().open(tracked_run(tmp_path, [*records, (5, {"loss": -5.0}), (5, {"mmd": 2.0})])).close()
    assert shown(tmp_path) == {"loss": expected, "mmd": [(5, 2.0)]}


def test_a_run_that_begins_again_forgets_everything(tmp_path, shown):
    for value in (1.0, 2.0):
        log = TensorBoard().open(tracked_run(tmp_path))
        log.write(1, {"loss": value})
        log.close()
    assert shown(tmp_path) == {"loss": [(1, 2.0)]}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused_by_name(tmp_path, shown, value):
    log = TensorBoard().open(tracked_run(tmp_path))
    with pytest.raises(ValueError, match="step 7: gap is not finite"):
        log.write(7, {"loss": 1.0, "gap": value})
    log.close()
    assert shown(tmp_path) == {}


def pictures(found, name):
    return [(image.step, image.encoded_image_string) for image in found.Images(name)]


def words(found, name):
    return [b"".join(event.tensor_proto.string_val).decode() for event in found.Tensors(f"{name}/text_summary")]


def test_pictures_are_shown_as_they_are(tmp_path, events):
    log = TensorBoard().open(tracked_run(tmp_path))
    log.picture(3, "samples", small_picture(shade=7))
    log.close()
    (image,) = events(tmp_path).Images("samples")
    assert (image.step, image.width, image.height) == (3, 2, 2)
    assert image.encoded_image_string == small_picture(shade=7)


def test_a_resumed_run_has_no_picture_twice(tmp_path, events):
    """Killed at step 7 after a checkpoint at step 5, at which samples were drawn; the last record is of step 4."""
    records = [(4, {"loss": 1.0})]
    log = TensorBoard().open(tracked_run(tmp_path))
    for step in (3, 5, 7):
        log.picture(step, "samples", small_picture(shade=step))
    log.close()
    log = TensorBoard().open(tracked_run(tmp_path, records, step=5))
    log.picture(5, "samples", small_picture(shade=5))  # the engine gives those of the checkpoint again
    log.close()
    found = events(tmp_path)
    assert pictures(found, "samples") == [(step, small_picture(shade=step)) for step in (3, 5)]
    assert len(words(found, "spec")) == 1


def test_the_spec_is_shown_and_results_are_compared(tmp_path, events):
    log = TensorBoard().open(tracked_run(tmp_path))
    log.write(10, {"mmd": 0.25})
    log.finish({"mmd": 0.25})
    log.close()
    for _ in range(2):  # measured again
        log = TensorBoard().open(tracked_run(tmp_path, step=10))
        log.write(10, {"mmd": 0.125})
        log.finish({"mmd": 0.125})
        log.close()
    found = events(tmp_path)
    (spec,) = words(found, "spec")
    assert spec == f"```yaml\n{tracked_run(tmp_path).text}\n```"
    plugin = pytest.importorskip("tensorboard.plugins.hparams.plugin_data_pb2")
    start = plugin.HParamsPluginData.FromString(
        found.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    )
    chosen = start.session_start_info.hparams
    assert chosen["model.use"].string_value == "mlp"
    assert chosen["model.hidden"].string_value == "[64, 64]"
    assert chosen["train.optimizer.lr"].number_value == 1e-3
    assert "train.optimizer.fused" not in chosen  # null


def test_a_new_folder_has_everything_that_was_measured_before(tmp_path, shown):
    """As for `ebmkit sample --more`: a new run that begins with the weights of another."""
    TensorBoard().open(tracked_run(tmp_path, [(1, {"loss": 1.0}), (2, {"loss": 2.0})])).close()
    assert shown(tmp_path) == {"loss": [(1, 1.0), (2, 2.0)]}
