"""A Gaussian mixture under noise, as a module."""

from __future__ import annotations

import torch
from torch import Tensor

from ebmkit.components.models.nets.conditional import Conditional, Level
from ebmkit.contracts.kinds import Schedule


class NoisedMixture(Conditional):
    """`E(x, level) = -log q_level(x)`, up to d/2 log 2 pi, where q is the distribution of `signal x_0 + noise xi`.

    Every component stays Gaussian, with mean signal m and, along the axes U of its covariance U V U', the variances
    signal^2 V + noise^2. It has no trainable parameters.
    """

    log_weights: Tensor
    means: Tensor
    axes: Tensor
    variances: Tensor

    def __init__(
        self, schedule: Schedule, weights: Tensor, means: Tensor, covariances: Tensor, event: tuple[int, ...]
    ) -> None:
        super().__init__(schedule)
        variances, axes = torch.linalg.eigh(covariances)
        known = {"log_weights": weights.log(), "means": means, "axes": axes, "variances": variances}
        for name, value in known.items():
            self.register_buffer(name, value.to(torch.get_default_dtype()))
        self.event = event

    def forward(self, x: Tensor, level: Level, labels: Tensor | None = None) -> Tensor:
        return -self._components(x, level)[0].logsumexp(0)

    def score(self, x: Tensor, level: Level, labels: Tensor | None = None) -> Tensor:
        log_heights, pull = self._components(x, level)
        score = torch.bmm(pull * log_heights.softmax(0).unsqueeze(2), self.axes.mT).sum(0)
        return -score.view_as(x)

    def modes(self) -> tuple[Tensor, Tensor]:
        """Means `(K, d)` and weights `(K,)` of the components."""
        return self.means, self.log_weights.exp()

    def _components(self, x: Tensor, level: Level) -> tuple[Tensor, Tensor]:
        """Log heights `(K, B)`, and (x - mean) / variance along the axes, `(K, B, d)`."""
        flat = x.flatten(1)
        signal, noise = self.noise_at(level, flat)
        variance = self.variances.unsqueeze(1) * signal**2 + noise**2
        along = torch.bmm(flat - self.means.unsqueeze(1) * signal, self.axes)
        pull = along / variance
        heights = (along * pull).sum(2) + variance.log().sum(2)
        return self.log_weights.unsqueeze(1) - heights / 2, pull
