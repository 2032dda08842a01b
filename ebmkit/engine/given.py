"""What is known of samples before they are drawn: a label, or a part of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from ebmkit.kinds import Schedule
from ebmkit.schedules.process import signal_and_noise


@dataclass(frozen=True)
class Given:
    """A label that all samples are to have; and states `(N, *event)`, with a mask that is true where they are known."""

    label: int | None = None
    known: Tensor | None = None
    mask: Tensor | None = None

    def holder(self, first: int, like: Tensor, schedule: Schedule | None) -> Callable[[Any, Generator], Any] | None:
        """What keeps the known part of the chains from `first` on, as many as `like` has, at the noise they have.

        Known states are taken in turn where there are fewer than chains. On the way the known part is noised as much
        as the rest, which so grows together with it; at the end it is what was given.
        """
        if self.known is None or self.mask is None or schedule is None:
            return None
        rows = torch.arange(first, first + len(like)) % len(self.known)
        known, mask = self.known[rows].to(like), self.mask.to(like.device)
        mask = mask if mask.dim() < like.dim() else mask[rows.to(mask.device)]

        def hold(state: Any, rng: Generator) -> Any:
            if state.level is None:
                return state._replace(x=torch.where(mask, known, state.x))
            signal, noise = signal_and_noise(schedule, state.level)
            noised = torch.empty_like(known).normal_(0, noise, generator=rng).add_(known, alpha=signal)
            return state._replace(x=torch.where(mask, noised, state.x))

        return hold
