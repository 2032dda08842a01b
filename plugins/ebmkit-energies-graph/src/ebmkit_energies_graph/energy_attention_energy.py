"""Attention between positions as a module."""

from __future__ import annotations

from math import prod, sqrt

import torch
from torch import Tensor, nn

from ebmkit.api import Event


class AttentionEnergy(nn.Module):
    """The energy of sequences of one length; a smooth function of spins, which need not be -1 or +1."""

    #: All values of a position.
    unit_values = (-1.0, 1.0)

    def __init__(self, event: Event, heads: int, width: int) -> None:
        super().__init__()
        length = prod(event)
        self.beta = 1 / sqrt(width)
        self.bias = nn.Parameter(torch.zeros(length))
        self.value = nn.Parameter(torch.randn(length, width) / sqrt(width))
        self.position = nn.Parameter(torch.randn(length, width) / sqrt(width))
        self.query = nn.Parameter(torch.randn(heads, width, width) / sqrt(width))
        self.key = nn.Parameter(torch.randn(heads, width, width) / sqrt(width))

    def forward(self, x: Tensor) -> Tensor:
        spins = x.flatten(1)
        if spins.shape[1] == 1:  # with no other position to attend to
            return -spins @ self.bias
        return -spins @ self.bias - self.agreement(spins).logsumexp(3).sum((1, 2)) / self.beta

    def agreement(self, spins: Tensor) -> Tensor:
        """beta times the products of queries and keys of all pairs `(B, heads, n, n)`; -inf on the diagonal."""
        tokens = (self.position + spins.unsqueeze(2) * self.value).unsqueeze(1)  # (B, 1, n, width)
        scores = (tokens @ self.query) @ (tokens @ self.key).mT
        itself = torch.eye(scores.shape[-1], device=scores.device, dtype=torch.bool)
        return (self.beta * scores).masked_fill(itself, -torch.inf)

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """`E` with -1 at a position minus `E` with +1, `(B, K)`: all of these states are one batch."""
        spins, count = x.flatten(1), len(sites)
        here = torch.zeros(count, spins.shape[1], device=x.device, dtype=x.dtype).scatter(1, sites.unsqueeze(1), 1.0)
        rest = spins.unsqueeze(1) * (1 - here)
        low, high = (self((rest + value * here).flatten(0, 1)) for value in self.unit_values)
        odds: Tensor = (low - high).view(len(x), count)
        return odds
