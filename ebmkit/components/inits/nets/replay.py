"""The replay buffer as a module."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts


class ReplayStarts(Starts):
    """A buffer of final states of chains. `draw` picks distinct slots, `keep` writes to the slots drawn last."""

    positions: Tensor
    used: Tensor
    kept_at: Tensor
    draws: Tensor

    def __init__(self, event: tuple[int, ...], size: int, rejuvenation: float, restart: Starts) -> None:
        super().__init__()
        self.capacity = size
        self.rejuvenation = rejuvenation
        self.restart = restart
        # Slots are filled at their first draw, not here, so that all randomness comes from the generator of `draw`.
        self.register_buffer("positions", torch.zeros(size, *event))
        self.register_buffer("used", torch.zeros(size, dtype=torch.bool))
        self.register_buffer("kept_at", torch.zeros(size, dtype=torch.long))
        self.register_buffer("draws", torch.zeros((), dtype=torch.long))
        self._slots: Tensor | None = None

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        n, size = len(like), len(self.positions)
        if n > size:
            raise ValueError(f"{n} chains are needed, but the buffer has {size} slots: raise 'size' to at least {n}")
        self._slots = slots = torch.randperm(size, generator=rng, device=like.device)[:n]
        used = self.used[slots]
        self.age = ((self.draws - self.kept_at[slots]) * used).sum() / used.sum().clamp(min=1)
        again = torch.rand(n, generator=rng, device=like.device) < self.rejuvenation
        again = (again | ~used).view(-1, *[1] * (like.dim() - 1))
        return torch.where(again, self.restart.draw(like, rng), self.positions[slots].to(like.dtype))

    def kept(self) -> Tensor:
        return self.positions[self.used]

    def new(self) -> Starts:
        return self.restart

    def keep(self, x: Tensor) -> None:
        if self._slots is None or len(self._slots) != len(x):
            raise ValueError(f"{len(x)} final states were passed to 'keep', but they were not drawn from this buffer")
        self.positions[self._slots] = x.to(self.positions.dtype)
        self.used[self._slots] = True
        self.draws += 1
        self.kept_at[self._slots] = self.draws
        self._slots = None
