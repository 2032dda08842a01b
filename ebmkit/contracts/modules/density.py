"""Noise distributions as modules, so that fitted parameters are saved and moved with the run."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from torch import Generator, Tensor, nn

from ebmkit.contracts.modules.live import LiveModule

if TYPE_CHECKING:
    from ebmkit.contracts.context import Context


class Density(LiveModule):
    """A density that can be sampled."""

    @abstractmethod
    def log_prob(self, x: Tensor) -> Tensor:
        """`(B, *event) -> (B,)`."""

    @abstractmethod
    def sample(self, n: int, rng: Generator) -> Tensor:
        """Independent draws `(n, *event)`."""

    def follow(self, model: nn.Module, step: int) -> None:
        """Called in every training step, after the model's forward pass. The default does nothing."""

    def draw(self, model: nn.Module, batch: Tensor, count: int, context: Context) -> Tensor:
        """The noise samples of a training step: independent draws, unless the noise follows the model."""
        return self.sample(count, context.rng)
