"""The auxiliary module of objectives that contrast data with trainable noise."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ebmkit.components.objectives.nets.ratios import Ratios
from ebmkit.contracts.context import Context
from ebmkit.contracts.modules.contest import Contest
from ebmkit.contracts.modules.density import Density


class ContrastiveContest(Contest):
    """The noise is the rival, and the normaliser `log Z` is learned together with the model."""

    rival: Density

    def __init__(self, rival: Density) -> None:
        super().__init__(rival)
        self.log_z = nn.Parameter(torch.zeros(()))

    def log_ratios(self, model: nn.Module, batch: Tensor, count: int, context: Context) -> Ratios:
        """The ratios at `batch` and at `count` noise samples; both tend to one as model and noise become the data."""
        return Ratios.at(model, self.rival, self.log_z, batch, count, context)
