"""Where chains begin, as modules, so that buffers are saved and moved with the run."""

from __future__ import annotations

from abc import abstractmethod

from torch import Generator, Tensor, nn

from ebmkit.contracts.kinds.model import Space


class Starts(nn.Module):
    """Chain starts. `draw` begins chains, `keep` takes back where they ended."""

    #: Where states live. Whoever builds the module for a discrete model says so.
    space: Space = "real"
    #: How many chains can be drawn at once, or None for any number.
    capacity: int | None = None
    #: For starts that remember: how many draws ago the chains drawn last were kept, on average.
    age: Tensor | None = None

    @abstractmethod
    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        """As many starting points as `like` has rows, on its device and in its dtype."""

    def live_in(self, space: Space) -> None:
        """Let it and the starts inside it know where states live."""
        for module in self.modules():
            if isinstance(module, Starts):
                module.space = space

    def keep(self, x: Tensor) -> None:
        """Remember the end points of the chains drawn last. Most starts forget."""
