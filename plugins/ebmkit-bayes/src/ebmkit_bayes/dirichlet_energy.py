"""The energy of a Dirichlet distribution in stick-breaking coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid, pad

from ebmkit_bayes.posterior import Moments


class DirichletEnergy(nn.Module):
    """`-sum_k a_k log p_k - sum_k log(1 - z_k) + log p_K + log B(a)`, everything from logarithms of z and 1 - z."""

    concentration: Tensor
    offset: Tensor

    def __init__(self, concentration: Sequence[float]) -> None:
        super().__init__()
        last = len(concentration)
        self.register_buffer("concentration", torch.tensor(concentration))
        self.register_buffer("offset", torch.tensor([float(last - k) for k in range(1, last)]).log())

    def forward(self, x: Tensor) -> Tensor:
        a, log_p = self.concentration, self.log_probabilities(x)
        log_rest = logsigmoid(self.offset - x).sum(1)  # log prod (1 - z), which is also log p_K
        of_p = ((a - 1) * log_p).sum(1)
        log_jacobian = log_p[:, :-1].sum(1) + log_rest
        log_beta = torch.lgamma(a).sum() - torch.lgamma(a.sum())
        return -of_p - log_jacobian + log_beta

    def log_probabilities(self, x: Tensor) -> Tensor:
        """`log p`, `(B, K)`."""
        y = x - self.offset
        left = pad(logsigmoid(-y).cumsum(1), (1, 0))  # of the stick before each break
        return left + pad(logsigmoid(y), (0, 1))

    def quantities(self, x: Tensor) -> Tensor:
        """The probabilities."""
        return self.log_probabilities(x).exp()

    def log_z(self) -> Tensor:
        """The density is normalised."""
        return torch.zeros_like(self.concentration[0])

    def reference(self) -> Moments:
        """`a / A` and `a (A - a) / (A^2 (A + 1))` with A = sum a."""
        a = self.concentration.detach().cpu().double()
        total = a.sum()
        return Moments(a / total, (a * (total - a) / (total + 1)).sqrt() / total)
