"""The replay buffer as a module."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.starts import Starts, kept_hidden_units
from ebmkit.contracts.setting import Setting


class ReplayStarts(Starts):
    """A buffer of final states of chains. `draw` picks distinct slots, `keep` writes to the slots drawn last."""

    positions: Tensor
    used: Tensor
    kept_at: Tensor
    draws: Tensor
    hidden: Tensor | None
    _again: Tensor

    def __init__(self, event: tuple[int, ...], size: int, rejuvenation: float, restart: Starts) -> None:
        super().__init__()
        self.capacity = size
        self.rejuvenation = rejuvenation
        self.restart = restart
        # Slots are filled at their first draw, not here, so that all randomness comes from the generator of `draw`.
        self.register_buffer("hidden", None)  # saved only if the model has hidden units to keep
        self.register_buffer("positions", torch.zeros(size, *event))
        self.register_buffer("used", torch.zeros(size, dtype=torch.bool))
        self.register_buffer("kept_at", torch.zeros(size, dtype=torch.long))
        self.register_buffer("draws", torch.zeros((), dtype=torch.long))
        self._slots: Tensor | None = None

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        if units := kept_hidden_units(setting.model):
            self.hidden = self.positions.new_zeros(len(self.positions), units)

    def draw(self, like: Tensor, rng: Generator) -> Tensor:
        n, size = len(like), len(self.positions)
        if n > size:
            raise ValueError(f"{n} chains are needed, but the buffer has {size} slots: raise 'size' to at least {n}")
        self._slots = slots = torch.randperm(size, generator=rng, device=like.device)[:n]
        used = self.used[slots]
        self.age = ((self.draws - self.kept_at[slots]) * used).sum() / used.sum().clamp(min=1)
        again = torch.rand(n, generator=rng, device=like.device) < self.rejuvenation
        self._again = again | ~used
        again = self._again.view(-1, *[1] * (like.dim() - 1))
        return torch.where(again, self.restart.draw(like, rng), self.positions[slots].to(like.dtype))

    def hidden_of(self, fresh: Tensor) -> Tensor:
        if self.hidden is None:
            return fresh
        slots, again = self._drawn(len(fresh))
        return torch.where(again.unsqueeze(1), fresh, self.hidden[slots].to(fresh.dtype))

    def keep_hidden(self, hidden: Tensor) -> None:
        if self.hidden is not None:
            self.hidden[self._drawn(len(hidden))[0]] = hidden.to(self.hidden.dtype)

    def kept(self) -> Tensor:
        return self.positions[self.used]

    def new(self) -> Starts:
        return self.restart

    def keep(self, x: Tensor) -> None:
        slots, _ = self._drawn(len(x))
        self.positions[slots] = x.to(self.positions.dtype)
        self.used[slots] = True
        self.draws += 1
        self.kept_at[slots] = self.draws
        self._slots = None

    def _drawn(self, n: int) -> tuple[Tensor, Tensor]:
        """The slots drawn last, and whether their chains are new."""
        if self._slots is None or len(self._slots) != n:
            raise ValueError(f"{n} final states were passed to 'keep', but they were not drawn from this buffer")
        return self._slots, self._again
