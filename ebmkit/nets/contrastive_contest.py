"""What contrasting data with noise that learns needs beside the model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ebmkit.engine.context import Context
from ebmkit.nets.contest import Contest
from ebmkit.nets.contrast import Ratios
from ebmkit.nets.density import Density


class ContrastiveContest(Contest):
    """The noise is the rival, and the normaliser `log Z` is learnt beside the model."""

    rival: Density

    def __init__(self, rival: Density) -> None:
        super().__init__(rival)
        self.log_z = nn.Parameter(torch.zeros(()))

    def log_ratios(self, model: nn.Module, batch: Tensor, count: int, context: Context) -> Ratios:
        """The ratios at `batch` and at `count` noise samples. Gradients flow through the samples, into the rival."""
        samples = self.rival.draw(model, batch, count, context)
        x = torch.cat([batch, samples])
        energy = model(x)
        log_u = -energy - self.log_z - self.rival.log_prob(x)
        at_data, at_noise = log_u.split([len(batch), count])
        return Ratios(at_data, at_noise, energy, samples)

    def metrics(self, log_u: Ratios) -> dict[str, Tensor]:
        """The normaliser, and the mean log ratios: both tend to zero as model and noise become the data."""
        ratios = {"log_ratio_data": log_u.data.detach().mean(), "log_ratio_noise": log_u.noise.detach().mean()}
        return {"log_z": self.log_z.detach(), **ratios}
