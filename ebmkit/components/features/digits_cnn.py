"""Features of small images of digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from ebmkit.contracts.extractor import Extractor, Features, Trained
from ebmkit.contracts.kinds import Event
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.models.nets.conv_classifier import ConvClassifierEnergy

#: Images per batch.
ROWS = 4096


class DigitsCNN(Extractor):
    """The 64 units before the last layer of a convolutional classifier of `digits`, images of 1 x 8 x 8.

    ebmkit trains it, offline and in seconds, from the packaged spec `features/digits-cnn` and stores it (see
    `engine/trained.py`). One machine gives the same bits every time; another processor or version of torch rounds
    differently, so values from different machines differ in their last digits, as for all trained networks. It runs on
    the CPU, regardless of the device of the run: a thousand images take milliseconds, and the values do not depend on
    the device.

    It was trained to classify noisy images, so that it is insensitive to noise of a standard deviation below 0.2
    (pixels range from -1 to 1).
    """

    facts: ClassVar[tuple[str, ...]] = ("accuracy",)

    def refusal(self, event: Event) -> str | None:
        return None if event == (1, 8, 8) else f"are for images of shape (1, 8, 8), but a state has shape {event}"

    def load(self, trained: Callable[[str], Trained]) -> Features:
        made = trained("features/digits-cnn")
        module = cast("ConvClassifierEnergy", made.module)

        def features(x: Tensor) -> Tensor:
            with torch.no_grad():
                blocks = torch.split(x.to("cpu", torch.float32), ROWS)
                return torch.cat([module.features(block) for block in blocks])

        return Features(features, {"accuracy": made.results["accuracy"]})


EXTRACTOR = DigitsCNN()
