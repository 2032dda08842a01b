"""Chains of which something is known."""

import torch
from torch import Tensor


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=generator(seed))


def uniform(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(*shape, dtype=torch.float64, generator=generator(seed))


def autoregressive(chains: int, draws: int, dimension: int, rho: float, seed: int = 0) -> Tensor:
    """Stationary Gaussian chains with unit variance whose autocorrelation is rho^t."""
    x = normal(chains, draws, dimension, seed=seed)
    for t in range(1, draws):
        x[:, t] = rho * x[:, t - 1] + (1 - rho**2) ** 0.5 * x[:, t]
    return x


def repeated(x: Tensor, share: float, seed: int = 0) -> Tensor:
    """Where a proposal is refused, the draw before stands again."""
    moved = uniform(*x.shape, seed=seed) > share
    moved[:, 0] = True
    at = torch.arange(x.shape[1]).view(1, -1, *[1] * (x.dim() - 2)).expand_as(x)
    return x.gather(1, at.where(moved, 0).cummax(1).values)
