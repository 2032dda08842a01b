"""Persistent chains."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts


class PersistentStarts(Starts):
    """A fixed set of chains. `draw` returns the first ones in order, `keep` stores their final states."""

    positions: Tensor
    begun: Tensor

    def __init__(self, event: tuple[int, ...], chains: int, start: Starts) -> None:
        super().__init__()
        self.capacity = chains
        self.start = start
        # Chains start at their first draw, not here, so that all randomness comes from the generator of `draw`.
        self.register_buffer("positions", torch.zeros(chains, *event))
        self.register_buffer("begun", torch.zeros(chains, dtype=torch.bool))

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        n = self._fitting(len(like))
        begun = self.begun[:n].view(-1, *[1] * (like.dim() - 1))
        return torch.where(begun, self.positions[:n].to(like.dtype), self.start.draw(like, rng))

    def kept(self) -> Tensor:
        return self.positions[self.begun]

    def new(self) -> Starts:
        return self.start

    def keep(self, x: Tensor) -> None:
        n = self._fitting(len(x))
        self.positions[:n] = x.to(self.positions.dtype)
        self.begun[:n] = True

    def _fitting(self, n: int) -> int:
        chains = len(self.positions)
        if n > chains:
            raise ValueError(f"{n} chains are needed, but there are {chains}: raise 'chains' to at least {n}")
        return n
