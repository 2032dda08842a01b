"""The contract of a feature extractor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ebmkit.contracts.kinds import Event

if TYPE_CHECKING:
    from torch import Tensor, nn


class Trained(NamedTuple):
    """A network with the weights of a finished run, and what that run measured."""

    module: nn.Module
    results: dict[str, float]


class Features(NamedTuple):
    """An extractor that is ready: what it makes of states `(B, *event) -> (B, D)`, and what is known of it."""

    of: Callable[[Tensor], Tensor]
    facts: dict[str, float]


class Extractor(ABC):
    """A network whose name is known, so that distances in its features mean the same to everybody."""

    #: The names of the numbers that are known of it, `accuracy` for example.
    facts: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def refusal(self, event: Event) -> str | None:
        """Why it says nothing about states of this shape, in words that follow its name; None if it does."""

    @abstractmethod
    def load(self, trained: Callable[[str], Trained]) -> Features:
        """The network. It takes states on any device, and may compute on another.

        `trained` gives the network of a packaged spec, which a view does: `extractor.load(view.trained)`.
        """
