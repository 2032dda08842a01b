"""Where chains begin, as modules, so that buffers are saved and moved with the run."""

from __future__ import annotations

from abc import abstractmethod

from torch import Generator, Tensor, nn


class Starts(nn.Module):
    """Chain starts. `draw` begins chains, `keep` takes back where they ended."""

    #: How many chains can be drawn at once, or None for any number.
    capacity: int | None = None
    #: For starts that remember: how many draws ago the chains drawn last were kept, on average.
    age: Tensor | None = None

    @abstractmethod
    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        """As many starting points as `like` has rows, on its device and in its dtype."""

    def keep(self, x: Tensor) -> None:
        """Remember the end points of the chains drawn last. Most starts forget."""
