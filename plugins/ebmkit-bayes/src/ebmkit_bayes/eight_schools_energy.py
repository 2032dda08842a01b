"""The energies of the eight schools, and their exact moments by quadrature over log tau."""

from __future__ import annotations

from functools import cache
from math import log, pi
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ebmkit_bayes.posterior import Moments

#: Estimated effects and their standard errors (Rubin 1981, table 1, schools A to H).
EFFECTS = (28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0)
ERRORS = (15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0)
#: The standard deviation of the prior of mu, and the scale of that of tau.
PRIOR = 5.0

#: The grid of log tau: the posterior falls as tau below it and faster than tau^-8 above it.
LOWEST, HIGHEST, GRID = -30.0, 14.0, 8001

LOG_2PI = log(2 * pi)


class SchoolsEnergy(nn.Module):
    """The parts that both parametrisations share."""

    effects: Tensor
    errors: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("effects", torch.tensor(EFFECTS))
        self.register_buffer("errors", torch.tensor(ERRORS))

    def of_hyperparameters(self, mu: Tensor, log_tau: Tensor) -> Tensor:
        """`-log p(mu) - log p(tau) - log tau`: the last term is the Jacobian of tau = exp(log tau)."""
        of_mu = (mu / PRIOR).square() / 2 + log(PRIOR) + LOG_2PI / 2
        of_tau = torch.log1p((log_tau.exp() / PRIOR).square()) + log(pi * PRIOR / 2)
        return of_mu + of_tau - log_tau

    def of_data(self, theta: Tensor) -> Tensor:
        """`-log p(y | theta)`."""
        return (((self.effects - theta) / self.errors).square() / 2 + self.errors.log() + LOG_2PI / 2).sum(1)

    def log_z(self) -> Tensor:
        """The log evidence."""
        return torch.tensor(integrals().log_evidence, dtype=self.effects.dtype, device=self.effects.device)

    def reference(self) -> Moments:
        """The exact moments of mu, tau and theta."""
        return integrals().moments


class NonCentredEnergy(SchoolsEnergy):
    """The energy of (mu, log tau, eta)."""

    def forward(self, x: Tensor) -> Tensor:
        mu, log_tau, eta = x[:, :1], x[:, 1:2], x[:, 2:]
        of_eta = (eta.square() / 2 + LOG_2PI / 2).sum(1)
        return self.of_hyperparameters(mu, log_tau).squeeze(1) + of_eta + self.of_data(mu + log_tau.exp() * eta)

    def quantities(self, x: Tensor) -> Tensor:
        """`(mu, tau, theta)`."""
        mu, tau, eta = x[:, :1], x[:, 1:2].exp(), x[:, 2:]
        return torch.cat([mu, tau, mu + tau * eta], 1)


class CentredEnergy(SchoolsEnergy):
    """The energy of (mu, log tau, theta)."""

    def forward(self, x: Tensor) -> Tensor:
        mu, log_tau, theta = x[:, :1], x[:, 1:2], x[:, 2:]
        scaled = (theta - mu) * (-log_tau).exp()
        of_theta = (scaled.square() / 2 + log_tau + LOG_2PI / 2).sum(1)
        return self.of_hyperparameters(mu, log_tau).squeeze(1) + of_theta + self.of_data(theta)

    def quantities(self, x: Tensor) -> Tensor:
        """`(mu, tau, theta)`."""
        return torch.cat([x[:, :1], x[:, 1:2].exp(), x[:, 2:]], 1)


class Integrals(NamedTuple):
    """Integrals over the posterior."""

    log_evidence: float
    moments: Moments


@cache
def integrals() -> Integrals:
    """The evidence and the moments, by the trapezoidal rule in log tau, whose error here is that of rounding.

    Given tau, y_j ~ N(mu, s_j) with s_j = sigma_j^2 + tau^2, so that mu has a Gaussian posterior N(m, V). Given mu too,
    theta_j is Gaussian with mean w y_j + (1 - w) mu and variance w sigma_j^2, where w = tau^2 / s_j.
    """
    log_tau = torch.linspace(LOWEST, HIGHEST, GRID, device="cpu", dtype=torch.float64)
    y, sigma2 = (torch.tensor(of, device="cpu", dtype=torch.float64) for of in (EFFECTS, ERRORS))
    sigma2 = sigma2.square()
    tau2 = (2 * log_tau).exp()[:, None]
    s = sigma2 + tau2
    v = 1 / (1 / PRIOR**2 + (1 / s).sum(1))
    m = v * (y / s).sum(1)
    # log p(y | tau), where mu is integrated out, and log p(log tau).
    fit = (y.square() / s).sum(1) - m.square() / v
    log_y = -(fit + s.log().sum(1) + len(y) * LOG_2PI + log(PRIOR**2) - v.log()) / 2
    log_prior = log(2 / (pi * PRIOR)) - torch.log1p(tau2[:, 0] / PRIOR**2) + log_tau
    log_weight = log_y + log_prior
    log_evidence = torch.logsumexp(log_weight, 0) + log((HIGHEST - LOWEST) / (GRID - 1))
    weight = log_weight.softmax(0)

    w = tau2 / s
    theta, theta_variance = w * y + (1 - w) * m[:, None], w * sigma2 + (1 - w).square() * v[:, None]
    tau = tau2[:, 0].sqrt()
    first = torch.cat([m[:, None], tau[:, None], theta], 1)
    second = torch.cat([(m.square() + v)[:, None], tau2, theta.square() + theta_variance], 1)
    mean = weight @ first
    return Integrals(float(log_evidence), Moments(mean, (weight @ second - mean.square()).sqrt()))
