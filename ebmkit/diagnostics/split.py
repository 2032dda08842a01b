"""Splitting of chains into halves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


def split(x: Tensor) -> Tensor:
    """Treat each half of a chain as a separate chain, so that a drift within a chain shows as a difference between two.

    `(chains, draws, *coords) -> (2 chains, draws // 2, *coords)`; if the number is odd, the middle draw is left out.

    Reference: Gelman et al., Bayesian Data Analysis, third edition, 2013, section 11.4.
    """
    half = x.shape[1] // 2
    return torch.cat([x[:, :half], x[:, x.shape[1] - half :]])
