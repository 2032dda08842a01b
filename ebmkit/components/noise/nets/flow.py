"""A normalising flow as a trainable density."""

from __future__ import annotations

from math import log, pi
from typing import Any

import torch
import zuko
from torch import Generator, Tensor, nn

from ebmkit.contracts.modules.density import Density


class FlowDensity(Density):
    """`x = centre + scale * f(z)`, where f is a neural spline flow and z ~ N(0, I).

    The coordinates are split into two groups that transform each other in turn, so that both directions are fast.
    """

    centre: Tensor
    scale: Tensor

    def __init__(
        self,
        centre: Tensor,
        scale: Tensor,
        event: tuple[int, ...],
        *,
        transforms: int,
        bins: int,
        hidden: tuple[int, ...],
    ) -> None:
        super().__init__()
        dtype = torch.get_default_dtype()
        d = len(centre)
        # The spline of a single coordinate cannot depend on others.
        network: dict[str, Any] = {"passes": 2, "hidden_features": hidden, "activation": nn.SiLU} if d > 1 else {}
        self.event = event
        self.register_buffer("centre", centre.to(dtype))
        self.register_buffer("scale", scale.to(dtype))
        self.to_base = zuko.flows.NSF(d, transforms=transforms, bins=bins, **network).transform
        if not network:  # zuko then draws the knots themselves from N(0, 1), which is far from the identity
            with torch.no_grad():
                for knots in self.to_base.parameters():
                    knots.mul_(0.01)

    def log_prob(self, x: Tensor) -> Tensor:
        if not len(x):  # zuko does not support empty batches
            return x.new_zeros(0)
        z, log_det = self.to_base().call_and_ladj((x.flatten(1) - self.centre) / self.scale)
        log_normal = -z.square().sum(1) / 2 - len(self.centre) / 2 * log(2 * pi)
        found: Tensor = log_normal + log_det - self.scale.log().sum()
        return found

    def sample(self, n: int, rng: Generator) -> Tensor:
        z = torch.empty(n, len(self.centre), device=self.centre.device, dtype=self.centre.dtype).normal_(generator=rng)
        x: Tensor = self.centre + self.scale * self.to_base().inv(z)
        return x.view(n, *self.event)

    def fit(self, data: Tensor, steps: int, rng: Generator) -> None:
        """Maximum likelihood on points `(N, *event)`, by Adam with a learning rate that decays to zero."""
        optimizer = torch.optim.Adam(self.parameters(), lr=RATE)
        decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, steps))
        for _ in range(steps):
            chosen = torch.randint(len(data), (min(BATCH, len(data)),), generator=rng)
            optimizer.zero_grad()
            torch.autograd.backward(-self.log_prob(data[chosen].to(self.centre.dtype)).mean())
            optimizer.step()
            decay.step()
        optimizer.zero_grad()


#: Fit of a flow: number of points per step, and initial learning rate.
BATCH, RATE = 256, 5e-3
