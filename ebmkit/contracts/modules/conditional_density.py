"""Noise conditioned on points, as a module."""

from __future__ import annotations

from abc import abstractmethod

from torch import Generator, Tensor

from ebmkit.contracts.modules.live import LiveModule


class ConditionalDensity(LiveModule):
    """A conditional density of y given x."""

    @abstractmethod
    def log_prob(self, y: Tensor, given: Tensor) -> Tensor:
        """`log p(y | x)` for each row: `(B, *event), (B, *event) -> (B,)`."""

    @abstractmethod
    def sample(self, given: Tensor, rng: Generator) -> Tensor:
        """One draw for each given point, `(B, *event)`."""
