"""Where chains begin, as modules, so that buffers are saved and moved with the run."""

from __future__ import annotations

from abc import abstractmethod

from torch import Generator, Tensor

from ebmkit.contracts.modules.live import LiveModule
from ebmkit.contracts.setting import Setting
from ebmkit.contracts.states import Space


class Starts(LiveModule):
    """Chain starts. `draw` begins chains, `keep` takes back where they ended."""

    #: Where states live, which `prepare` sets.
    space: Space = "real"
    #: How many chains can be drawn at once, or None for any number.
    capacity: int | None = None
    #: For starts that remember: how many draws ago the chains drawn last were kept, on average.
    age: Tensor | None = None

    @abstractmethod
    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        """As many starting points as `like` has rows, on its device and in its dtype."""

    def prepare(self, setting: Setting) -> None:
        """Learn where states live. Starts inside these are prepared too."""
        self.space = setting.space

    def keep(self, x: Tensor) -> None:
        """Remember the end points of the chains drawn last. Most starts forget."""
