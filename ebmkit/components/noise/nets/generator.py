"""A generator network as a trainable density."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor, nn

from ebmkit.contracts.modules.density import Density
from ebmkit.maths.kernels import log_kernel_mean

if TYPE_CHECKING:
    from ebmkit.contracts.context import Context


class GeneratorDensity(Density):
    """`1/M sum_m N(x; mu(z_m), diag(sigma^2))`, with the latents z_m in a buffer."""

    centre: Tensor
    scale: Tensor
    latents: Tensor

    def __init__(
        self,
        centre: Tensor,
        scale: Tensor,
        event: tuple[int, ...],
        *,
        latents: int,
        latent: int,
        hidden: tuple[int, ...],
        sigma: float,
    ) -> None:
        super().__init__()
        dtype = torch.get_default_dtype()
        layers: list[nn.Module] = []
        for before, after in pairwise((latent, *hidden)):
            layers += [nn.Linear(before, after), nn.SiLU()]
        self.event = event
        self.register_buffer("centre", centre.to(dtype))
        self.register_buffer("scale", scale.to(dtype))
        self.register_buffer("latents", torch.randn(latents, latent))
        self.mu = nn.Sequential(*layers, nn.Linear(hidden[-1], len(centre)))
        self.log_sigma = nn.Parameter(torch.tensor(sigma).log().expand(len(centre)).clone())

    def _centres(self) -> Tensor:
        """mu of the latents, in units of the data. Of a copy, so that they can be redrawn before a backward pass."""
        centres: Tensor = self.mu(self.latents.clone())
        return centres

    def log_prob(self, x: Tensor) -> Tensor:
        white, sigma = (x.flatten(1) - self.centre) / self.scale, self.log_sigma.exp()
        at = log_kernel_mean(white / sigma, self._centres() / sigma)
        return at - self.log_sigma.sum() - self.scale.log().sum()

    def sample(self, n: int, rng: Generator) -> Tensor:
        centres = self._centres()
        chosen = torch.randint(len(centres), (n,), device=centres.device, generator=rng)
        picked = centres.index_select(0, chosen)
        xi = torch.empty_like(picked).normal_(generator=rng)
        return (self.centre + self.scale * (picked + self.log_sigma.exp() * xi)).view(n, *self.event)

    def draw(self, model: nn.Module, batch: Tensor, count: int, context: Context) -> Tensor:
        self.latents.normal_(generator=context.rng)
        return self.sample(count, context.rng)
