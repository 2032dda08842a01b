"""Latent states of two values with a prior energy, as a module."""

from __future__ import annotations

from typing import Protocol, cast

import torch
from torch import Generator, Tensor, nn

from ebmkit.components.models.nets.latent import LatentEnergy
from ebmkit.components.models.nets.rowwise import rowwise
from ebmkit.contracts.abilities import Conditionals, LogZ, SampleExact
from ebmkit.maths import enumeration
from ebmkit.maths.two_valued import draw_values

#: Maximum number of latent units for which a gradient, or a draw given x, enumerates their states: 4096 states.
ENUMERATED = 12
#: Maximum number of latent units over whose states an energy or log Z is summed.
SUMMED = 20


class Prior(Conditionals, SampleExact, LogZ, Protocol):
    """What the prior can do; exact draws and log Z are used only where its model offers them."""


class DiscreteLatentEnergy(LatentEnergy):
    """A prior over units of two values, of which each has known log odds given all others."""

    #: A draw of z given x is an enumeration or a chain.
    keeps_hidden = True

    def __init__(
        self,
        event: tuple[int, ...],
        prior: nn.Module,
        prior_event: tuple[int, ...],
        hidden_units: int,
        hidden_values: tuple[float, float],
        weights: Tensor | None,
        visible_biases: Tensor | None,
        std: Tensor,
        learn_std: bool,
        sweeps: int,
    ) -> None:
        super().__init__(event, hidden_units, weights, visible_biases, std, learn_std)
        self.prior = prior
        self.hidden_values = hidden_values
        self._prior_event = prior_event
        self._sweeps = sweeps

    @property
    def _able(self) -> Prior:
        return cast("Prior", self.prior)

    def _shaped(self, z: Tensor) -> Tensor:
        return z.view(-1, *self._prior_event)

    def prior_energy(self, z: Tensor) -> Tensor:
        energy: Tensor = self.prior(self._shaped(z))
        return energy

    # Draws -----------------------------------------------------------------------------------------------------------

    def blocks(self) -> list[Tensor]:
        """x, then one latent unit after another: those that share a visible unit interact given x."""
        return [self.visible, *torch.split(self.hidden, 1)]

    def draw_latent(
        self, v: Tensor, z: Tensor, sites: Tensor, counted: Tensor, temperature: Tensor | float, rng: Generator
    ) -> Tensor:
        """The prior energy at the lower value minus that at the higher one, and the same of the misfit."""
        low, high = self.hidden_values
        scaled = self.scaled_weights
        column = scaled.index_select(1, sites)  # (D, K)
        squares = column.square().sum(0)
        left = (self.centred(v) - z @ scaled.T) @ column + (z.index_select(1, sites) - low) * squares
        gain = (high - low) * left - (high - low) ** 2 / 2 * squares
        odds = self._able.log_odds(self._shaped(z), sites) + gain
        return draw_values(odds / temperature, self.hidden_values, rng)

    @torch.no_grad()
    def draw_hidden(self, x: Tensor, rng: Generator) -> Tensor:
        """z given x, exactly for few units; otherwise by sweeps from fair coins."""
        v = x.flatten(1)
        if self.hidden_units <= ENUMERATED:
            log_mass = self._log_masses(v, self._states())
            gumbel = -torch.empty_like(log_mass).exponential_(generator=rng).log()
            drawn = self._states().index_select(0, (log_mass + gumbel).argmax(1))
            total = log_mass.sum(1, keepdim=True)
            return drawn + (total - total)  # NaN if an energy is
        z = draw_values(v.new_zeros(len(v), self.hidden_units), self.hidden_values, rng)
        sites = torch.arange(self.hidden_units, device=v.device)
        for site in torch.split(sites.repeat(self._sweeps), 1):
            z.index_copy_(1, site, self.draw_latent(v, z, site, site >= 0, 1.0, rng))
        return z

    def posterior_energy(self, x: Tensor, rng: Generator) -> Tensor:
        """The energy, by enumeration of few units; otherwise E(x, z) at a draw of z, without the entropy."""
        if self.hidden_units <= ENUMERATED:
            return self.forward(x)
        return self.joint_energy(torch.cat([x.flatten(1), self.draw_hidden(x, rng)], 1))

    # Sums over all states --------------------------------------------------------------------------------------------

    def forward(self, x: Tensor) -> Tensor:
        """`-log sum_z exp(-E(x, z))`, by enumeration."""
        v = x.flatten(1)

        def of(rows: Tensor) -> Tensor:
            return self._log_masses(rows, self._states()).logsumexp(1)

        return -rowwise(of, v, 2**self.hidden_units)

    def _states(self) -> Tensor:
        """All states of z, `(2^H, H)`."""
        numbers = torch.arange(2**self.hidden_units, device=self.weights.device)
        return enumeration.states(numbers, (self.hidden_units,), self.hidden_values, self.weights.dtype)

    def _log_masses(self, v: Tensor, z: Tensor) -> Tensor:
        """`-E(x, z)` of all x and all z, `(B, 2^H)`."""
        explained = (z @ self.scaled_weights.T).square().sum(1) / 2
        alone = -self.prior_energy(z) - explained
        return self.pull(v) @ z.T + alone - self.centred(v).square().sum(1, keepdim=True) / 2

    def log_z(self) -> Tensor:
        """That of the prior, and the integral over x given z, which is the same for every z."""
        if self.hidden_units > SUMMED:
            return self._able.log_z() + self.log_volume
        return (-self.prior_energy(self._states())).logsumexp(0) + self.log_volume

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """z from the prior, then x given z."""
        if self.hidden_units > SUMMED:
            return self.given(self._able.sample_exact(n, rng).flatten(1), rng)
        log_mass = -self.prior_energy(self._states())
        numbers = enumeration.draw(log_mass, n, rng)
        z = enumeration.states(numbers, (self.hidden_units,), self.hidden_values, log_mass.dtype)
        total = log_mass.logsumexp(0)
        return self.given(z + (total - total), rng)
