"""The pictures of a run for its trackers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from safetensors.torch import load as load_tensors
from torch import Tensor

from ebmkit.engine.folder.trackers import Trackers
from ebmkit.engine.previews import kept_at
from ebmkit.engine.run_view import RunView
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.describe import describe_error
from ebmkit.storage.reading import read_whole

#: Draws samples as a PNG, or None for states that cannot be drawn. The caller of a session passes it.
DrawSamples: TypeAlias = Callable[[RunView, Tensor], bytes | None]

#: Maximum number of samples in a picture.
MOST = 500


class Pictures:
    """Draws the pictures that trackers take; none if no tracker takes any. A picture that cannot be drawn is a warning
    and does not stop the run."""

    def __init__(
        self, view: RunView, trackers: Trackers, draw: DrawSamples | None, warn: Callable[[str], None]
    ) -> None:
        self.view, self.trackers, self.warn = view, trackers, warn
        self._draw = draw if trackers.take_pictures else None

    def samples(self, x: Tensor) -> None:
        """Draw samples of this step."""
        if self._draw is None:
            return
        try:
            with self.view.at_most(len(x)):
                png = self._draw(self.view, x[:MOST].cpu())
        except (Exception, SystemExit) as error:
            self._draw = None
            self.warn(f"trackers get no pictures of samples, because drawing one raised {describe_error(error)}")
            return
        if png is not None:
            self.trackers.picture(self.view.step, "samples", png)

    def again(self, step: int) -> None:
        """Draw the samples that were kept at the step from which a run is resumed: a tracker that discards that step
        would otherwise lose them."""
        if self._draw is not None and self.view.folder and (path := kept_at(self.view.folder, step)).is_file():
            self.samples(load_tensors(read_whole(path))["x"])

    def final(self, summary: Path) -> None:
        """Draw the final samples, if there are any, and pass on the picture of all panels, if it was written."""
        view = self.view
        if self._draw is not None and view.can_sample and view.no_samples is None:
            with suppress(EbmkitError):  # reported when the samples were drawn
                self.samples(view.samples(min(MOST, view.plan.spec.samples)))
        if self.trackers.take_pictures and summary.is_file():
            self.trackers.picture(view.step, "summary", read_whole(summary))
