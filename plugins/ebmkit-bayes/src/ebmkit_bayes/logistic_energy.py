"""The energy of logistic regression, and its exact moments by quadrature in the plane."""

from __future__ import annotations

from functools import cached_property
from math import log, pi

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ebmkit_bayes.posterior import Moments

#: Half the width of the grid in standard deviations, and its points on a side: their distance is an eighth of one.
WIDTH, SIDE = 9.0, 145


class LogisticEnergy(nn.Module):
    """`sum_n log(1 + exp(-s_n (a + b' t_n))) - log p(a, b)` with s = 1 for class 1 and -1 for class 0.

    Equal rows are one with a count, so that an experiment with few doses costs no more than its doses.
    """

    signed: Tensor
    counts: Tensor
    mean: Tensor
    std: Tensor

    def __init__(self, table: Tensor, positive: Tensor, prior_scale: float) -> None:
        super().__init__()
        table, dtype = table.double(), torch.get_default_dtype()
        mean, std = table.mean(0), table.std(0)
        std = std.where(std > 0, 1.0)  # a constant column, whose coefficient has its prior
        design = torch.cat([torch.ones_like(table[:, :1]), (table - mean) / std], 1)
        signed, counts = torch.unique(design * (2 * positive.double() - 1)[:, None], dim=0, return_counts=True)
        self.register_buffer("signed", signed.to(dtype))
        self.register_buffer("counts", counts.to(dtype))
        self.register_buffer("mean", mean.to(dtype))
        self.register_buffer("std", std.to(dtype))
        self.prior_scale = prior_scale

    def forward(self, x: Tensor) -> Tensor:
        of_prior = (x / self.prior_scale).square() / 2 + log(self.prior_scale) + log(2 * pi) / 2
        return softplus(-(x @ self.signed.T)) @ self.counts + of_prior.sum(1)

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The gradient is `-sum_n s_n sigmoid(-s_n (a + b' t_n)) (1, t_n)` and that of the prior."""
        odds = x @ self.signed.T
        of_prior = (x / self.prior_scale).square() / 2 + log(self.prior_scale) + log(2 * pi) / 2
        gradient = x / self.prior_scale**2 - (torch.sigmoid(-odds) * self.counts) @ self.signed
        return softplus(-odds) @ self.counts + of_prior.sum(1), gradient

    def quantities(self, x: Tensor) -> Tensor:
        """The coefficients in the units of the table."""
        slopes = x[:, 1:] / self.std
        return torch.cat([x[:, :1] - (slopes * self.mean).sum(1, keepdim=True), slopes], 1)

    def log_z(self) -> Tensor:
        """The log evidence."""
        return self._integrals[0].to(self.signed)

    def reference(self) -> Moments:
        """The exact moments of the two coefficients."""
        return self._integrals[1]

    @cached_property
    def _integrals(self) -> tuple[Tensor, Moments]:
        """By the trapezoidal rule around the mode, on axes along which the energy rises equally fast.

        The energy is log-concave and smooth, so that the error of the rule is far below that of rounding.
        """
        exact = LogisticEnergy.__new__(LogisticEnergy)
        nn.Module.__init__(exact)
        for name, value in self.named_buffers():
            exact.register_buffer(name, value.detach().cpu().double())
        exact.prior_scale = self.prior_scale
        mode, hessian = _mode(exact)
        axes = torch.linalg.cholesky(torch.linalg.inv(hessian))
        line = torch.linspace(-WIDTH, WIDTH, SIDE, device="cpu", dtype=torch.float64)
        grid = torch.cartesian_prod(line, line) @ axes.T + mode
        with torch.no_grad():
            log_weight = -torch.cat([exact(part) for part in grid.split(1024)])
            quantities = exact.quantities(grid)
        cell = 2 * (line[1] - line[0]).log() + axes.diagonal().log().sum()
        weight = log_weight.softmax(0)
        mean = weight @ quantities
        std = (weight @ (quantities - mean).square()).sqrt()
        return torch.logsumexp(log_weight, 0) + cell, Moments(mean, std)


def _mode(energy: LogisticEnergy) -> tuple[Tensor, Tensor]:
    """The minimum of the energy by Newton's method with halved steps, and its second derivatives there."""
    x = energy.signed.new_zeros(1, energy.signed.shape[1])
    for _ in range(100):
        value, gradient = energy.energy_and_grad(x)
        p = torch.sigmoid(x @ energy.signed.T)
        rows = energy.signed * (energy.counts * p * (1 - p)).squeeze(0)[:, None]
        hessian = energy.signed.T @ rows + torch.eye(x.shape[1], device="cpu", dtype=x.dtype) / energy.prior_scale**2
        step = torch.linalg.solve(hessian, gradient.squeeze(0))
        while bool(energy(x - step) > value) and bool(step.norm() > 1e-12):
            step = step / 2
        x = x - step
        if bool(step.norm() < 1e-12):
            break
    return x.squeeze(0), hessian
