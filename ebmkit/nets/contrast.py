"""What contrasting data with noise needs beside the model."""

from __future__ import annotations

import torch
from torch import Generator, Tensor, nn

from ebmkit.nets.density import Density


class Contrast(nn.Module):
    """A noise density and the normaliser `log Z`, which is learnt or stays zero."""

    def __init__(self, noise: Density, learn_log_z: bool) -> None:
        super().__init__()
        self.noise = noise
        self.log_z = nn.Parameter(torch.zeros(()), requires_grad=learn_log_z)

    def log_ratios(self, model: nn.Module, batch: Tensor, count: int, rng: Generator) -> tuple[Tensor, Tensor]:
        """`log u = -E(x) - log Z - log p_noise(x)` at the batch and at `count` noise samples, in one pass."""
        x = torch.cat([batch, self.noise.sample(count, rng)])
        log_u = -model(x) - self.log_z - self.noise.log_prob(x)
        at_data, at_noise = log_u.split([len(batch), count])
        return at_data, at_noise

    def metrics(self, at_data: Tensor, at_noise: Tensor) -> dict[str, Tensor]:
        """The normaliser, and the mean log ratios: an infinite energy shows in these, where the loss may swallow it."""
        ratios = {"log_ratio_data": at_data.detach().mean(), "log_ratio_noise": at_noise.detach().mean()}
        return {"log_z": self.log_z.detach(), **ratios}
