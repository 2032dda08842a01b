"""Chain starts as modules, so that their buffers are saved and moved with the run."""

from __future__ import annotations

from abc import abstractmethod
from typing import cast

from torch import Generator, Tensor, nn

from ebmkit.contracts.abilities import Hidden
from ebmkit.contracts.ability import missing_members
from ebmkit.contracts.modules.live import LiveModule
from ebmkit.contracts.setting import Setting
from ebmkit.contracts.states import Space


class Starts(LiveModule):
    """Starting points of chains. `draw` returns them, `keep` receives the end points of the chains."""

    #: The space of states, set by `prepare`.
    space: Space = "real"
    #: The maximum number of chains per draw, or None for any number.
    capacity: int | None = None
    #: For starts with a buffer: the mean number of draws since the chains drawn last were kept.
    age: Tensor | None = None

    @abstractmethod
    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        """Starting points, as many as `like` has rows, on its device and in its dtype."""

    def prepare(self, setting: Setting) -> None:
        """Set the space of states. Starts inside these are prepared too."""
        self.space = setting.space

    def follow(self, extras: nn.Module | None) -> Starts:
        """The starts from which samples are drawn: these, or others among the modules of the objective."""
        return self

    def kept(self) -> Tensor | None:
        """The states of chains that will be continued; None if none are."""
        return None

    def new(self) -> Starts:
        """Where new chains start: here, or for starts that keep chains, at others."""
        return self

    def hidden_of(self, fresh: Tensor) -> Tensor:
        """The hidden units of the chains drawn last: those that were kept, or `fresh (B, H)` for new chains."""
        return fresh

    def keep_hidden(self, hidden: Tensor) -> None:
        """Store the hidden units `(B, H)` of the chains drawn last, before their visible ones. The default does
        nothing."""

    def keep(self, x: Tensor) -> None:
        """Store the end points of the chains drawn last. The default does nothing."""


def kept_hidden_units(model: nn.Module) -> int:
    """The number of hidden units that belong to the state of a chain between two draws; 0 for most models."""
    if missing_members(model, Hidden):
        return 0
    found = cast("Hidden", model)
    return found.hidden_units if found.keeps_hidden else 0
