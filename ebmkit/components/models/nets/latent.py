"""Real states around a linear map of latent ones, as a module."""

from __future__ import annotations

from abc import abstractmethod
from math import log, pi, prod

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

#: Standard deviation of initial weights that the spec does not give. At zero the likelihood has no slope in them.
SMALL = 0.1


class LatentEnergy(nn.Module):
    """`E(x, z) = E_prior(z) + sum_i (x_i - b_i - (Wz)_i)^2 / (2 std_i^2)`."""

    visible: Tensor
    hidden: Tensor

    def __init__(
        self,
        event: tuple[int, ...],
        hidden_units: int,
        weights: Tensor | None,
        visible_biases: Tensor | None,
        std: Tensor,
        learn_std: bool,
    ) -> None:
        super().__init__()
        self.event = event
        self.hidden_units = hidden_units
        units, dtype = prod(event), torch.get_default_dtype()
        if weights is None:
            weights = torch.empty(units, hidden_units, dtype=dtype).normal_(0, SMALL)
        self.weights = nn.Parameter(weights.to(dtype))
        self.visible_biases = nn.Parameter(
            torch.zeros(units, dtype=dtype) if visible_biases is None else visible_biases.to(dtype)
        )
        #: Logarithms, so that training keeps standard deviations positive.
        self.log_std = nn.Parameter(std.log().to(dtype), requires_grad=learn_std)
        # The visible and the latent units, by their numbers in a joint state.
        self.register_buffer("visible", torch.arange(units), persistent=False)
        self.register_buffer("hidden", torch.arange(units, units + hidden_units), persistent=False)

    @abstractmethod
    def prior_energy(self, z: Tensor) -> Tensor:
        """`E_prior(z)`, `(B,)`, of flat latent states."""

    @abstractmethod
    def draw_latent(
        self, v: Tensor, z: Tensor, sites: Tensor, counted: Tensor, temperature: Tensor | float, rng: Generator
    ) -> Tensor:
        """New values `(B, K)` of the latent units `sites (K,)` given all others. The sites that are not `counted (K,)`
        are no latent units: what is drawn for them is not used."""

    @property
    def std(self) -> Tensor:
        """`(D,)`."""
        return self.log_std.exp()

    @property
    def scaled_weights(self) -> Tensor:
        """`W / std`, `(D, H)`."""
        return self.weights / self.std.unsqueeze(1)

    def pull(self, v: Tensor) -> Tensor:
        """`W' (v - b) / std^2`, `(B, H)`: the linear term of -E in z."""
        return self.centred(v) @ self.scaled_weights

    def centred(self, v: Tensor) -> Tensor:
        """`(v - b) / std`."""
        return (v - self.visible_biases) / self.std

    @property
    def log_volume(self) -> Tensor:
        """The log of the integral over x given z."""
        return self.log_std.sum() + len(self.log_std) / 2 * log(2 * pi)

    # Joint states ----------------------------------------------------------------------------------------------------

    def joint_energy(self, units: Tensor) -> Tensor:
        """`E(x, z)`."""
        v, z = self.layers_of(units)
        misfit = self.centred(v) - F.linear(z, self.scaled_weights)
        return self.prior_energy(z) + misfit.square().sum(1) / 2

    def layers_of(self, units: Tensor) -> tuple[Tensor, Tensor]:
        """Visible and latent units of joint states."""
        count = len(self.visible)
        return units[:, :count], units[:, count:]

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """Units of a block given all others."""
        v, z = self.layers_of(units)
        if sites is self.visible:
            return self._draw_visible(z, self.visible, temperature, rng)
        is_latent, count = sites >= len(self.visible), len(self.visible)
        latent = self.draw_latent(v, z, (sites - count).clamp(min=0), is_latent, temperature, rng)
        # Which units they are stays on the device: both are drawn, and one is taken.
        seen = self._draw_visible(z, sites.clamp(max=count - 1), temperature, rng)
        return torch.where(is_latent, latent, seen)

    def _draw_visible(self, z: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """`N(b + Wz, T std^2)`."""
        of_all: list[Tensor] = [self.weights, self.visible_biases, self.std]
        weights, biases, std = (
            of_all if sites is self.visible else [parameter.index_select(0, sites) for parameter in of_all]
        )
        mean = F.linear(z, weights, biases)
        return mean + std * torch.empty_like(mean).normal_(generator=rng) * temperature**0.5

    def given(self, z: Tensor, rng: Generator) -> Tensor:
        """x `(B, *event)` given z."""
        return self._draw_visible(z, self.visible, 1.0, rng).view(-1, *self.event)
