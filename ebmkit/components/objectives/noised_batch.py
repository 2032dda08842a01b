"""Denoising losses of a batch at many noise levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.components.models.nets.conditional import Conditional


def even_shares(batch: Tensor, rng: Generator) -> Tensor:
    """Numbers in [0, 1), one for each point of a batch: each uniform, jointly evenly spaced.

    They share one random shift, so that every batch covers the noise levels evenly.
    """
    precise = torch.promote_types(batch.dtype, torch.float32)  # in half precision many levels would never occur
    shift = torch.empty((), device=batch.device, dtype=precise).uniform_(generator=rng)
    order = torch.arange(len(batch), device=batch.device, dtype=precise)
    return (shift + order / len(batch)).remainder(1)


def denoising_losses(
    model: Conditional, batch: Tensor, level: Tensor, xi: Tensor, labels: Tensor | None
) -> tuple[Tensor, Tensor]:
    """`1/2 |noise s(signal x + noise xi, level) + xi|^2` of every point, `(B,)`, and the noise `(B,)` at its level."""
    signal, noise = model.noise_at(level, batch)
    score = model.score(signal * batch + noise * xi, level, labels)
    return (noise * score + xi).flatten(1).square().sum(1) / 2, noise.reshape(-1)
