"""Networks on top of noised Gaussians."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ebmkit.data.rows import plain_moments
from ebmkit.kinds import Schedule
from ebmkit.nets.conditional import Conditional, score_of_energy


class Scaled(NamedTuple):
    """States at a level, in units in which a network sees the same spread at every level."""

    away: Tensor  # x / signal - center
    signal: Tensor
    sigma: Tensor  # noise / signal
    spread: Tensor  # sqrt(sigma^2 + scale^2)

    @property
    def inputs(self) -> Tensor:
        return self.away / self.spread


class NoisedNetwork(Conditional):
    """What scores and potentials share: a Gaussian N(center, scale^2 I) that is fitted to the data.

    With y = x / signal and sigma = noise / signal, y is data plus noise of sigma. The score of the noised Gaussian is

        -(y - center) / (sigma^2 + scale^2)

    and what is learnt is how the data differ from it. A network then never has to learn how large noise is, and sees
    inputs, and is asked for outputs, of about unit size at every level.

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

    def meet(self, data: Tensor, labels: Tensor | None = None) -> None:
        super().meet(data, labels)
        mean, std = plain_moments(data)
        spread = std.square().mean().sqrt()
        with torch.no_grad():
            self.center.copy_(mean.to(self.center.dtype))
            if len(data) > 1 and spread > 0:
                self.scale.copy_(spread.to(self.scale.dtype))

    def _scaled(self, x: Tensor, level: Tensor) -> Scaled:
        signal, noise = self.noise_at(level, x)
        sigma = noise / signal
        return Scaled(x / signal - self.center, signal, sigma, (sigma.square() + self.scale.square()).sqrt())


class NoisedScore(NoisedNetwork):
    """`s(x, level) = (-away / spread^2 + scale / (sigma spread) F) / signal`, with a network F of states to states."""

    def forward(self, x: Tensor, level: Tensor, labels: Tensor | None = None) -> Tensor:
        at = self._scaled(x, level)
        learnt = self.network(at.inputs, at.sigma.reshape(-1), labels)
        score: Tensor = (learnt * (self.scale / at.sigma) - at.inputs) / (at.spread * at.signal)
        return score

    def score(self, x: Tensor, level: Tensor, labels: Tensor | None = None) -> Tensor:
        return self(x, level, labels)  # type: ignore[no-any-return]


class NoisedPotential(NoisedNetwork):
    """`E(x, level) = |away|^2 / (2 spread^2) - scale / sigma g`, with a network g of states to numbers.

    Its score has the form of `NoisedScore`, with the gradient of g in its inputs for F.
    """

    def forward(self, x: Tensor, level: Tensor, labels: Tensor | None = None) -> Tensor:
        at = self._scaled(x, level)
        learnt = self.network(at.inputs, at.sigma.reshape(-1), labels)
        energy: Tensor = at.inputs.flatten(1).square().sum(1) / 2 - (self.scale / at.sigma).reshape(-1) * learnt
        return energy

    def score(self, x: Tensor, level: Tensor, labels: Tensor | None = None) -> Tensor:
        return score_of_energy(self, x, level, labels)
