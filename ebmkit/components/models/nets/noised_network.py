"""Scores and energies of noised data: a noised Gaussian corrected by a network."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ebmkit.components.data.rows import plain_moments
from ebmkit.components.models.nets.conditional import Conditional, Level, score_of_energy
from ebmkit.contracts.kinds import Schedule
from ebmkit.contracts.setting import Setting
from ebmkit.maths.process import most_noise, signal_and_noise


class Scaled(NamedTuple):
    """States at a level, in units in which the input of a network has the same scale at every level."""

    inputs: Tensor  # (x - signal center) / spread
    spread: Tensor  # of x, not of x / signal, which overflows at small signals
    share: Tensor  # signal scale / noise
    sigma: Tensor  # noise / signal, flat


class NoisedNetwork(Conditional):
    """The common part of scores and energies: a Gaussian N(center, scale^2 I) fitted to the data.

    At a level it is N(signal center, spread^2 I), with spread^2 = noise^2 + signal^2 scale^2, and its score is

        -(x - signal center) / spread^2

    The network learns the difference of the data from it. It need not learn the scale of the noise, and its inputs and
    outputs are of about unit size at every level.

    Reference: Karras et al., "Elucidating the design space of diffusion-based generative models", arXiv:2206.00364,
    section 5.
    """

    center: Tensor
    scale: Tensor

    def __init__(
        self, schedule: Schedule, event: tuple[int, ...], network: nn.Module, classes: int | None = None
    ) -> None:
        super().__init__(schedule, classes)
        self.network = network
        self.register_buffer("center", torch.zeros(event))
        self.register_buffer("scale", torch.ones(()))

    def prepare(self, setting: Setting) -> None:
        super().prepare(setting)
        data = setting.data
        if data is None:
            return
        mean, std = plain_moments(data)
        spread = std.square().mean().sqrt()
        with torch.no_grad():
            self.center.copy_(mean.to(self.center.dtype))
            if len(data) > 1 and spread > 0:
                self.scale.copy_(spread.to(self.scale.dtype))

    def prior_mean(self) -> Tensor:
        signal, _ = signal_and_noise(self.schedule, most_noise(self.schedule))
        return self.center * signal

    def _scaled(self, x: Tensor, level: Level) -> Scaled:
        signal, noise = self.noise_at(level, x)
        wide = self.scale * signal
        spread = (wide.square() + noise**2).sqrt()
        away = x.sub(self.center, alpha=signal) if isinstance(signal, float) else x - signal * self.center
        sigma = x.new_full((1,), noise / signal) if isinstance(signal, float) else (noise / signal).reshape(-1)
        return Scaled(away / spread, spread, wide / noise, sigma)


class NoisedScore(NoisedNetwork):
    """`s(x, level) = (-inputs + scale / sigma F(inputs)) / spread`, with a network F from states to states."""

    def forward(self, x: Tensor, level: Level, labels: Tensor | None = None) -> Tensor:
        at = self._scaled(x, level)
        correction: Tensor = self.network(at.inputs, at.sigma, labels)
        return torch.addcmul(-at.inputs, correction, at.share) / at.spread

    def score(self, x: Tensor, level: Level, labels: Tensor | None = None) -> Tensor:
        return self(x, level, labels)  # type: ignore[no-any-return]


class NoisedPotential(NoisedNetwork):
    """`E(x, level) = |inputs|^2 / 2 - scale / sigma g(inputs)`, with a network g from states to numbers.

    Its score has the form of `NoisedScore`, with the gradient of g in place of F.
    """

    def forward(self, x: Tensor, level: Level, labels: Tensor | None = None) -> Tensor:
        at = self._scaled(x, level)
        correction = self.network(at.inputs, at.sigma, labels)
        energy: Tensor = at.inputs.flatten(1).square().sum(1) / 2 - at.share.reshape(-1) * correction
        return energy

    def score(self, x: Tensor, level: Level, labels: Tensor | None = None) -> Tensor:
        return score_of_energy(self, x, level, labels)
