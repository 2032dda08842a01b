"""Persistent chains."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts, kept_hidden_units
from ebmkit.contracts.setting import Setting


class PersistentStarts(Starts):
    """A fixed set of chains. `draw` returns the first ones in order, `keep` stores their final states."""

    positions: Tensor
    begun: Tensor
    hidden: Tensor | None

    def __init__(self, event: tuple[int, ...], chains: int, start: Starts) -> None:
        super().__init__()
        self.capacity = chains
        self.start = start
        # Chains start at their first draw, not here, so that all randomness comes from the generator of `draw`.
        self.register_buffer("hidden", None)  # saved only if the model has hidden units to keep
        self.register_buffer("positions", torch.zeros(chains, *event))
        self.register_buffer("begun", torch.zeros(chains, dtype=torch.bool))

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        if units := kept_hidden_units(setting.model):
            self.hidden = self.positions.new_zeros(len(self.positions), units)

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        n = self._fitting(len(like))
        begun = self.begun[:n].view(-1, *[1] * (like.dim() - 1))
        return torch.where(begun, self.positions[:n].to(like.dtype), self.start.draw(like, rng))

    def hidden_of(self, fresh: Tensor) -> Tensor:
        if self.hidden is None:
            return fresh
        n = len(fresh)
        return torch.where(self.begun[:n].unsqueeze(1), self.hidden[:n].to(fresh.dtype), fresh)

    def keep_hidden(self, hidden: Tensor) -> None:
        if self.hidden is not None:
            self.hidden[: len(hidden)] = hidden.to(self.hidden.dtype)

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
