"""Units of K categories, 0 to K - 1: draws and log probabilities, from log probabilities up to a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor


def draw_categories(logits: Tensor, rng: Generator) -> Tensor:
    """Draws `(...)`, in the dtype of `logits (..., K)`, of units with probabilities `softmax(logits)`."""
    p = logits.softmax(-1)
    # Exponential clocks of rates p: the first to ring, at -log(u) / p, is a draw from p, without a cumulative sum.
    log_u = torch.empty_like(p).uniform_(generator=rng).log_()
    first = (p / log_u).argmin(-1).to(p.dtype)
    return torch.where(p[..., 0].isnan(), p[..., 0], first)  # a comparison would hide it


def log_probability(logits: Tensor, x: Tensor) -> Tensor:
    """The log probability `(...)` of the category `x (...)` of each unit."""
    return logits.log_softmax(-1).gather(-1, x.long().unsqueeze(-1)).squeeze(-1)
