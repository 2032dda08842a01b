"""Log ratios of a model to noise."""

from __future__ import annotations

from math import log
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ebmkit.contracts.context import Context
from ebmkit.contracts.modules.density import Density


class Ratios(NamedTuple):
    """`log u = -E(x) - log Z - log p_noise(x)` at the batch and at noise samples, E at both together, and the noise
    samples."""

    data: Tensor
    noise: Tensor
    energy: Tensor
    samples: Tensor

    @classmethod
    def at(cls, model: nn.Module, noise: Density, log_z: Tensor, batch: Tensor, count: int, context: Context) -> Ratios:
        """The ratios at `batch` and at `count` noise samples, in one pass of the model. Gradients flow through the
        samples into trainable noise."""
        samples = noise.draw(model, batch, count, context)
        x = torch.cat([batch, samples])
        energy = model(x)
        noise.follow(model, context.step)
        log_u = -energy - log_z - noise.log_prob(x)
        at_data, at_noise = log_u.split([len(batch), count])
        return cls(at_data, at_noise, energy, samples)

    def logistic_loss(self, r: float) -> Tensor:
        """The loss of classifying data against r times as much noise: `E softplus(-G) + r E softplus(G)` over data and
        noise, with `G = log u - log r`."""
        softplus = torch.nn.functional.softplus
        return softplus(log(r) - self.data).mean() + r * softplus(self.noise - log(r)).mean()

    def metrics(self) -> dict[str, Tensor]:
        """The mean log ratios: they show an infinite energy, which a loss may hide."""
        return {"log_ratio_data": self.data.detach().mean(), "log_ratio_noise": self.noise.detach().mean()}
