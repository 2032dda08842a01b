"""The auxiliary module of objectives that contrast data with noise."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ebmkit.components.objectives.nets.control_variate import SteinControl
from ebmkit.components.objectives.nets.ratios import Ratios
from ebmkit.contracts.context import Context
from ebmkit.contracts.modules.density import Density


class Contrast(nn.Module):
    """A noise density, which is not trained, the normaliser `log Z`, which is learned or stays zero, and optionally a
    control variate of the noise phase."""

    def __init__(self, noise: Density, learn_log_z: bool, *, control: bool = False) -> None:
        super().__init__()
        self.noise = noise.requires_grad_(False)
        self.log_z = nn.Parameter(torch.zeros(()), requires_grad=learn_log_z)
        self.control = SteinControl() if control else None

    def log_ratios(self, model: nn.Module, batch: Tensor, count: int, context: Context) -> Ratios:
        """The ratios at `batch` and at `count` noise samples."""
        return Ratios.at(model, self.noise, self.log_z, batch, count, context)
