"""Persistent chains."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts


class PersistentStarts(Starts):
    """A fixed set of chains. `draw` takes the first ones in order, `keep` says where they got to."""

    positions: Tensor
    begun: Tensor

    def __init__(self, event: tuple[int, ...], chains: int, start: Starts) -> None:
        super().__init__()
        self.capacity = chains
        self.start = start
        # Chains begin when they are first drawn, not here: all randomness then comes from the generator of `draw`.
        self.register_buffer("positions", torch.zeros(chains, *event))
        self.register_buffer("begun", torch.zeros(chains, dtype=torch.bool))

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        n = self._fitting(len(like))
        begun = self.begun[:n].view(-1, *[1] * (like.dim() - 1))
        return torch.where(begun, self.positions[:n].to(like.dtype), self.start.draw(like, rng))

    def keep(self, x: Tensor) -> None:
        n = self._fitting(len(x))
        self.positions[:n] = x.to(self.positions.dtype)
        self.begun[:n] = True

    def _fitting(self, n: int) -> int:
        chains = len(self.positions)
        if n > chains:
            raise ValueError(f"{n} chains, but {chains} persist: raise 'chains' to at least {n}")
        return n
