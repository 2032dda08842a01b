"""The replay buffer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le

from ebmkit.components.inits.fresh import check_fresh
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init

if TYPE_CHECKING:
    from ebmkit.components.inits.nets.replay import ReplayStarts


@component("replay")
class Replay(Init):
    """Replay buffer of earlier chains: chains start at random slots, and are restarted with a small probability.

        x0 = restart            with probability R = rejuvenation, or if the slot was never used
        x0 = state of the slot  otherwise

    R = 0 gives persistent chains (PCD), R = 1 a restart every time. The slots of a draw are distinct. A restarted chain
    is not yet a sample of the model: a share of about R times the draws that it needs is biased towards its start.

    Parameters:
        size: number of slots; at least the number of chains that run at a time.
        rejuvenation: probability R that a chain is restarted. Short-run chains for images need more, 0.05 to 0.25.
        restart: initial states of restarted chains.

    Reference: Du and Mordatch, arXiv:1903.08689; rejuvenation: Xu, "Self-adapting noise-contrastive estimation for
    energy-based models", thesis, Tsinghua 2022, sections 3.2 and 5.1 (size 10000, R = 0.25).

    Example: init: {use: replay, size: 10000, rejuvenation: 0.01}
    """

    size: Annotated[int, Ge(1)] = 10_000
    rejuvenation: Annotated[float, Ge(0), Le(1)] = 0.001
    restart: Init = NoiseStart()

    def __post_init__(self) -> None:
        check_fresh("restart", self.restart)

    def capacity(self) -> int:
        return self.size

    def lifetime(self) -> float:
        return 1 / self.rejuvenation if self.rejuvenation else math.inf

    def first(self) -> Init:
        return self.restart

    def build(self, event: Event) -> ReplayStarts:
        from ebmkit.components.inits.nets.replay import ReplayStarts

        return ReplayStarts(event, self.size, self.rejuvenation, self.restart.build(event))
