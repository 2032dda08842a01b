"""Base class of fixed target densities."""

from __future__ import annotations

from math import prod

import torch
from torch import Generator, Tensor, nn


class Target(nn.Module):
    """A density that is known exactly and has no trainable parameters.

    Its constants are plain numbers. The normaliser is a buffer, which gives the module a device and a dtype.
    """

    log_normaliser: Tensor

    def __init__(self, event: tuple[int, ...], log_z: float) -> None:
        super().__init__()
        self.event = event
        self.dimension = prod(event)
        self.register_buffer("log_normaliser", torch.tensor(log_z, dtype=torch.get_default_dtype()))

    def log_z(self) -> Tensor:
        """The normaliser computed when the module was built."""
        return self.log_normaliser

    def normal(self, n: int, columns: int, rng: Generator) -> Tensor:
        """Standard normal numbers, `(n, columns)`."""
        return self._empty(n, columns).normal_(generator=rng)

    def uniform(self, n: int, columns: int, rng: Generator) -> Tensor:
        """Uniform numbers strictly between 0 and 1, so that quantile functions are finite, `(n, columns)`."""
        edge = torch.finfo(self.log_normaliser.dtype).eps / 2
        return self._empty(n, columns).uniform_(edge, 1 - edge, generator=rng)

    def _empty(self, *shape: int) -> Tensor:
        return torch.empty(shape, device=self.log_normaliser.device, dtype=self.log_normaliser.dtype)
