"""What contrasting data with noise needs beside the model."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ebmkit.engine.context import Context
from ebmkit.nets.control_variate import SteinControl
from ebmkit.nets.density import Density


class Ratios(NamedTuple):
    """`log u = -E(x) - log Z - log p_noise(x)` at the batch and at noise samples, E itself at both together, and those
    samples."""

    data: Tensor
    noise: Tensor
    energy: Tensor
    samples: Tensor


class Contrast(nn.Module):
    """A noise density, which is not trained, the normaliser `log Z`, which is learnt or stays zero, and perhaps a term
    that lowers the scatter of the noise phase."""

    def __init__(self, noise: Density, learn_log_z: bool, *, control: bool = False) -> None:
        super().__init__()
        self.noise = noise.requires_grad_(False)
        self.log_z = nn.Parameter(torch.zeros(()), requires_grad=learn_log_z)
        self.control = SteinControl() if control else None

    def log_ratios(self, model: nn.Module, batch: Tensor, count: int, context: Context) -> Ratios:
        """The ratios at `batch` and at `count` noise samples, in one pass of the model."""
        samples = self.noise.draw(model, batch, count, context)
        x = torch.cat([batch, samples])
        energy = model(x)
        log_u = -energy - self.log_z - self.noise.log_prob(x)
        at_data, at_noise = log_u.split([len(batch), count])
        return Ratios(at_data, at_noise, energy, samples)

    def metrics(self, log_u: Ratios) -> dict[str, Tensor]:
        """The normaliser, and the mean log ratios: an infinite energy shows in these, where the loss may swallow it."""
        ratios = {"log_ratio_data": log_u.data.detach().mean(), "log_ratio_noise": log_u.noise.detach().mean()}
        return {"log_z": self.log_z.detach(), **ratios}
