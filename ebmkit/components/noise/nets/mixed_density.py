"""A mixture of two noise distributions."""

from __future__ import annotations

from math import log, log1p

import torch
from torch import Generator, Tensor, nn

from ebmkit.contracts.context import Context
from ebmkit.contracts.modules.density import Density


class MixedDensity(Density):
    """`share * base + (1 - share) * other`. The base is not trainable; the other may be."""

    def __init__(self, base: Density, other: Density, share: float) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.other = other
        self.share = share

    def log_prob(self, x: Tensor) -> Tensor:
        base, other = self.base.log_prob(x), self.other.log_prob(x)
        mixed = torch.logaddexp(log(self.share) + base, log1p(-self.share) + other)
        return mixed + (other - other).detach()  # learned densities are never zero: minus infinity must not vanish here

    def sample(self, n: int, rng: Generator) -> Tensor:
        return self._either(self.base.sample(n, rng), self.other.sample(n, rng), rng)

    def follow(self, model: nn.Module, step: int) -> None:
        for part in (self.base, self.other):
            part.follow(model, step)

    def draw(self, model: nn.Module, batch: Tensor, count: int, context: Context) -> Tensor:
        base, other = (part.draw(model, batch, count, context) for part in (self.base, self.other))
        return self._either(base, other, context.rng)

    def _either(self, base: Tensor, other: Tensor, rng: Generator) -> Tensor:
        """Each row of `base` with probability `share`, else of `other`."""
        shape = (len(base), *[1] * (base.dim() - 1))
        u = torch.empty(shape, device=base.device, dtype=base.dtype).uniform_(generator=rng)
        return torch.where(u < self.share, base, other)
