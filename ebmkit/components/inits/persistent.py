"""Persistent chains: persistent contrastive divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from ebmkit.components.inits.fresh import check_fresh
from ebmkit.components.inits.noise import NoiseStart
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init

if TYPE_CHECKING:
    from ebmkit.components.inits.nets.persistent import PersistentStarts


@component("persistent")
class Persistent(Init):
    """Persistent contrastive divergence (PCD) with `mle`: one chain per row of the batch, never restarted.

        x0 = the last state of the chain of the same row;  a draw from `start` the first time

    A batch of n rows uses the first n chains in order. `replay` is the variant with a large buffer, random slots and
    restarts.

    Parameters:
        chains: number of chains; at least the number of rows of a batch, and more are not used.
        start: initial states of new chains.

    Reference: Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML
    2008.

    Example: init: {use: persistent, chains: 256}
    """

    chains: Annotated[int, Ge(1)] = 256
    start: Init = NoiseStart()

    def __post_init__(self) -> None:
        check_fresh("start", self.start)

    def capacity(self) -> int:
        return self.chains

    def first(self) -> Init:
        return self.start

    def build(self, event: Event) -> PersistentStarts:
        from ebmkit.components.inits.nets.persistent import PersistentStarts

        return PersistentStarts(event, self.chains, self.start.build(event))
