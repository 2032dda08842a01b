"""Parzen window noise as a module."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from ebmkit.contracts.modules.density import Density
from ebmkit.maths.kernels import log_kernel_mean


class ParzenDensity(Density):
    """The mean of Gaussians at points `(M, d)`, with standard deviations `bandwidth` `(d,)`."""

    points: Tensor
    bandwidth: Tensor

    def __init__(self, points: Tensor, bandwidth: Tensor, event: tuple[int, ...]) -> None:
        super().__init__()
        dtype = torch.get_default_dtype()
        self.event = event
        self.register_buffer("points", points.to(dtype))
        self.register_buffer("bandwidth", bandwidth.to(dtype))

    def log_prob(self, x: Tensor) -> Tensor:
        origin = self.points[:1]  # differences of nearby points are exact, their quotients are rounded
        at = log_kernel_mean((x.flatten(1) - origin) / self.bandwidth, (self.points - origin) / self.bandwidth)
        return at - self.bandwidth.log().sum()

    def sample(self, n: int, rng: Generator) -> Tensor:
        chosen = torch.randint(len(self.points), (n,), device=self.points.device, generator=rng)
        centres = self.points[chosen]
        xi = torch.empty_like(centres).normal_(generator=rng)
        return torch.addcmul(centres, xi, self.bandwidth).view(n, *self.event)
