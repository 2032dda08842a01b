"""Measurements, pictures and results as TensorBoard events."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any, ClassVar

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Log, TrackedRun, Tracker
from ebmkit.storage.atomic import sync_folder


class Events(Log):
    """An open event file. It replaces what earlier files contain for the step of the run and later ones."""

    def __init__(self, run: TrackedRun) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self._folder = run.folder / "tensorboard"
        self._settings = dict(_flat(run.spec))
        self.is_new = not any(self._folder.glob("events.*"))
        self._writer: Any = SummaryWriter(str(self._folder), purge_step=run.step)

    def write(self, step: int, values: dict[str, float]) -> None:
        wrong = [name for name, value in values.items() if not isfinite(value)]
        if wrong:
            raise ValueError(f"step {step}: {', '.join(wrong)} is not finite and cannot be recorded")
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def text(self, name: str, text: str, step: int) -> None:
        """Write text in Markdown."""
        self._writer.add_text(name, text, step)

    def picture(self, step: int, name: str, png: bytes) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        # Not `add_image`, which would decode the picture and encode it again, with a further package.
        width, height = (int.from_bytes(png[place : place + 4]) for place in (16, 20))
        channels = {0: 1, 2: 3, 4: 2, 6: 4}[png[25]]  # by the colour type of PNG
        image = Summary.Image(width=width, height=height, colorspace=channels, encoded_image_string=png)
        self._writer.file_writer.add_summary(Summary(value=[Summary.Value(tag=name, image=image)]), step)

    def finish(self, results: Mapping[str, float]) -> None:
        from torch.utils.tensorboard import summary

        hparams: Any = summary.hparams
        for entry in hparams(self._settings, dict(results)):
            self._writer.file_writer.add_summary(entry)

    def sync(self) -> None:
        self._writer.flush()  # passes the events to the system, which may still lose them
        for path in self._folder.glob("events.*"):
            with path.open("rb+") as file:
                os.fsync(file.fileno())
        sync_folder(self._folder)

    def close(self) -> None:
        self._writer.close()


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, bool | float | str]]:
    """The numbers and words of plain data by their paths: `objective.noise.use`. What is null is left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and any(isinstance(inner, Mapping) for inner in value):
        for index, inner in enumerate(value):
            yield from _flat(inner, f"{name}.{index}")
    elif value is not None:
        yield name, value if isinstance(value, bool | int | float | str) else str(value)


@component("tensorboard")
class TensorBoard(Tracker):
    """TensorBoard tracker: scalars, pictures of samples, the spec and the results, in `tensorboard/` of the run folder.

        pip install 'ebmkit-core[tensorboard]';  tensorboard --logdir runs

    The tab HPARAMS compares runs by the parameters of their specs and by their results. TensorBoard keeps single
    precision. Use `jsonl` too: the report reads `metrics.jsonl`.

    Reference: https://www.tensorflow.org/tensorboard.

    Example: trackers: [jsonl, tensorboard]
    """

    needs_packages: ClassVar[Mapping[str, str]] = {"tensorboard": "ebmkit-core[tensorboard]"}

    def open(self, run: TrackedRun) -> Events:
        events = Events(run)
        if events.is_new:  # what is not a scalar or a picture is never replaced
            events.text("spec", f"```yaml\n{run.text}\n```", 0)
        # Only the last step can be incomplete: it is written again, and all earlier ones keep their times.
        for step, values in run.records:
            if events.is_new or step == run.step:
                events.write(step, values)
        return events
