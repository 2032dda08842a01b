"""Noise distributions as modules, so that fitted parameters are saved and moved with the run."""

from __future__ import annotations

from abc import abstractmethod

from torch import Generator, Tensor, nn


class Density(nn.Module):
    """A normalised density that can be sampled."""

    @abstractmethod
    def log_prob(self, x: Tensor) -> Tensor:
        """`(B, *event) -> (B,)`."""

    @abstractmethod
    def sample(self, n: int, rng: Generator) -> Tensor:
        """Independent draws `(n, *event)`."""
