"""Chains that never stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge

from ebmkit.components.inits.noise import NoiseStart
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Init

if TYPE_CHECKING:
    from ebmkit.components.inits.nets.persistent import PersistentStarts


@component("persistent")
class Persistent(Init):
    """One chain a row of the batch, which goes on where it stopped; makes `mle` persistent contrastive divergence.

        x0 = where the chain of the same row ended last time;  a draw from `start` the first time

    A batch of n rows takes the first n chains in order. Chains are never restarted; `replay` is the variant with a
    large buffer, random slots and restarts.

    Parameters:
        chains: how many there are; at least as many as a batch has rows, and more are of no use.
        start: where chains begin the first time.

    Reference: Tieleman, "Training restricted Boltzmann machines using approximations to the likelihood gradient", ICML
    2008.

    Example: init: {use: persistent, chains: 256}
    """

    chains: Annotated[int, Ge(1)] = 256
    start: Init = NoiseStart()

    def __post_init__(self) -> None:
        if self.start.capacity() is not None:
            raise ValueError("'start' itself remembers chains; a chain that never stops begins in noise or at the data")

    def capacity(self) -> int:
        return self.chains

    def build(self, event: Event) -> PersistentStarts:
        from ebmkit.components.inits.nets.persistent import PersistentStarts

        return PersistentStarts(event, self.chains, self.start.build(event))
