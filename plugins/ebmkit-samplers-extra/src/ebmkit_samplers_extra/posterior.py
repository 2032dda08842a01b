"""The posterior of a linear regression as a module."""

from __future__ import annotations

from math import log, pi
from typing import TYPE_CHECKING

import torch
from torch import Generator, Tensor, nn

if TYPE_CHECKING:
    from ebmkit_samplers_extra.regression import BayesianRegression


class RegressionPosterior(nn.Module):
    """`E(x) = |R (x - m)|^2 / 2 + |y - Z x|^2 / (2 s^2)`, with R' R the precision of the prior."""

    inputs: Tensor
    targets: Tensor
    center: Tensor
    factor: Tensor
    whitening: Tensor
    mean: Tensor
    root: Tensor
    constant: Tensor

    def __init__(self, model: BayesianRegression) -> None:
        super().__init__()
        self.noise_variance = model.noise_std**2
        z, y = (torch.tensor(numbers, dtype=torch.float64, device="cpu") for numbers in (model.inputs, model.targets))
        d = z.shape[1]
        identity = torch.eye(d, dtype=torch.float64, device="cpu")
        covariance = model.prior_std**2 * ((1 - model.correlation) * identity + model.correlation)
        factor = torch.linalg.cholesky(covariance)
        whitening = torch.linalg.solve_triangular(factor, identity, upper=False)
        center = torch.full((d,), model.prior_mean, dtype=torch.float64, device="cpu")
        precision = whitening.T @ whitening + z.T @ z / self.noise_variance
        upper = torch.linalg.cholesky(precision).T  # P = upper' upper
        root = torch.linalg.solve_triangular(upper, identity, upper=True)  # root root' = P^-1
        mean = root @ root.T @ (whitening.T @ whitening @ center + z.T @ y / self.noise_variance)
        least = (whitening @ (mean - center)).square().sum() + (y - z @ mean).square().sum() / self.noise_variance
        constant = d / 2 * log(2 * pi) - upper.diagonal().log().sum() - least / 2
        found = {"inputs": z, "targets": y, "center": center, "factor": factor, "whitening": whitening}
        for name, tensor in {**found, "mean": mean, "root": root, "constant": constant}.items():
            self.register_buffer(name, tensor.to(torch.get_default_dtype()), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        white = (x - self.center) @ self.whitening.T
        return white.square().sum(1) / 2 + self.misfit(x)

    def log_z(self) -> Tensor:
        """`d/2 log 2 pi - log det(P) / 2 - E(mean)`."""
        return self.constant

    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """`mean + root xi`."""
        xi = torch.empty(n, len(self.mean), device=self.mean.device, dtype=self.mean.dtype).normal_(generator=rng)
        return self.mean + xi @ self.root.T

    def prior_center(self, like: Tensor) -> Tensor:
        """m."""
        return self.center

    def prior_noise(self, like: Tensor, rng: Generator) -> Tensor:
        """`factor xi`."""
        return torch.empty_like(like).normal_(generator=rng) @ self.factor.T

    def misfit(self, x: Tensor) -> Tensor:
        """`|y - Z x|^2 / (2 s^2)`."""
        return (self.targets - x @ self.inputs.T).square().sum(1) / (2 * self.noise_variance)

    def gradient_estimate(self, x: Tensor, terms: int, rng: Generator) -> Tensor:
        """The gradient of the prior, and that of random observations, drawn with replacement for every state."""
        count = len(self.targets)
        index = torch.randint(count, (len(x), terms), generator=rng, device=x.device)
        rows, y = self.inputs[index], self.targets[index]
        residual = (rows * x.unsqueeze(1)).sum(2) - y  # (B, terms)
        of_data = (rows * residual.unsqueeze(2)).sum(1) * (count / terms / self.noise_variance)
        return (x - self.center) @ (self.whitening.T @ self.whitening) + of_data
