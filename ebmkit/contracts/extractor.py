"""The contract of a feature extractor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ebmkit.contracts.kinds import Event

if TYPE_CHECKING:
    from torch import Tensor, nn


class Trained(NamedTuple):
    """A network with the weights of a finished run, and the numbers that the run measured."""

    module: nn.Module
    results: dict[str, float]


class Features(NamedTuple):
    """A loaded extractor: the map of states `(B, *event) -> (B, D)`, and known numbers about it."""

    of: Callable[[Tensor], Tensor]
    facts: dict[str, float]


class Extractor(ABC):
    """A named feature network, so that distances in its features are comparable between users."""

    #: The names of the known numbers, for example `accuracy`.
    facts: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def refusal(self, event: Event) -> str | None:
        """Why it does not apply to states of this shape, in words that follow its name; None if it does."""

    @abstractmethod
    def load(self, trained: Callable[[str], Trained]) -> Features:
        """The network. It accepts states on any device, and may compute on another.

        `trained` returns the network of a packaged spec, as a view does: `extractor.load(view.trained)`.
        """
