"""The contract of a chain start."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.built import Builder
from ebmkit.contracts.states import Event

if TYPE_CHECKING:
    from ebmkit.contracts.modules.starts import Starts


class Init(Builder, ABC):
    """Starting points of chains: noise, data points, or the end points of earlier chains."""

    component_kind: ClassVar[str] = "init"
    #: True if chains start at data points, so that a spec without data is refused.
    needs_data: ClassVar[bool] = False

    def capacity(self) -> int | None:
        """The maximum number of simultaneous chains, or None for any number."""
        return None

    def lifetime(self) -> float:
        """The mean number of draws in which a chain is continued before it is restarted: 1 if chains are not kept.

        Infinite by default if there is a fixed number of chains. A buffer that restarts chains overrides it.
        """
        return 1.0 if self.capacity() is None else math.inf

    def first(self) -> Init:
        """Where new chains start: here, or for an init that keeps chains, at another one."""
        return self

    def builds(self) -> type:
        from ebmkit.contracts.modules.starts import Starts

        return Starts

    @abstractmethod
    def build(self, event: Event) -> Starts:
        """A module with `draw(like, rng) -> x` and `keep(x)`; its buffers are saved with the run.

        `like` is a data batch: it gives the number of chains, device and dtype, and for CD the points themselves.
        """
