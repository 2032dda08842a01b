"""A model conditioned on a noisy copy of its state."""

from __future__ import annotations

from torch import Tensor, nn

from ebmkit.chains.energy import Energy


class TiltedEnergy(nn.Module):
    """`E(x | x~) = E(x) + |x - x~|^2 / (2 sigma^2)`, row by row: the posterior of x given x~ = x + sigma xi.

    States may be several replicas of all chains, one after the other, as those of `parallel_tempering` are.
    """

    def __init__(self, model: nn.Module, noisy: Tensor, sigma: float) -> None:
        super().__init__()
        self.model = model
        self.noisy = noisy
        self.precision = sigma**-2
        self.energy = getattr(model, "energy_class", Energy)(model)  # compiled if chains are

    def forward(self, x: Tensor) -> Tensor:
        energy: Tensor = self.model(x)
        return energy + self.precision / 2 * self._away(x).flatten(1).square().sum(1)

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dx`, using the `energy_and_grad` of the model if it has one."""
        energy, gradient = self.energy.value_and_grad(x)
        away = self._away(x)
        return energy + self.precision / 2 * away.flatten(1).square().sum(1), gradient + self.precision * away

    def _away(self, x: Tensor) -> Tensor:
        """The distance of every state from the noisy copy of its chain."""
        return (x.reshape(-1, *self.noisy.shape) - self.noisy).view_as(x)
