"""The Boltzmann machine with hidden units, as a module."""

from __future__ import annotations

from math import prod

import torch
from torch import Generator, Tensor, nn

from ebmkit.components.models.nets.boltzmann import BoltzmannEnergy
from ebmkit.maths import enumeration


class HiddenBoltzmannEnergy(nn.Module):
    """The free energy of the visible units of a Boltzmann machine, by enumeration of its hidden ones."""

    #: Hidden units interact, so that a draw given the visible ones costs an enumeration, and a sweep does not.
    keeps_hidden = True

    def __init__(
        self,
        event: tuple[int, ...],
        values: tuple[float, float],
        hidden_units: int,
        weights: Tensor | None,
        biases: Tensor | None,
    ) -> None:
        """`weights` and `biases` are those of all units, visible ones first."""
        super().__init__()
        self.event = event
        self.unit_values = values
        self.hidden_units = hidden_units
        self.joint = BoltzmannEnergy((prod(event) + hidden_units,), values, weights, biases)

    def forward(self, x: Tensor) -> Tensor:
        """`E(v) = -1/2 v'W_vv v - b_v'v - log sum_h exp(h'(W_hv v + b_h) + 1/2 h'W_hh h)`."""
        v, weights, biases = x.flatten(1), self.joint.weights(), self.joint.biases
        count = v.shape[1]
        alone = ((v @ weights[:count, :count]) * v).sum(1) / 2 + v @ biases[:count]
        return -alone - self._hidden_weights(v, weights).logsumexp(1)

    def _hidden_weights(self, v: Tensor, weights: Tensor) -> Tensor:
        """`h'(W_hv v + b_h) + 1/2 h'W_hh h` of all hidden states, `(B, 2^H)`."""
        count, h = v.shape[1], self._hidden_states()
        field = v @ weights[:count, count:] + self.joint.biases[count:]
        return field @ h.T + ((h @ weights[count:, count:]) * h).sum(1) / 2

    def _hidden_states(self) -> Tensor:
        like = self.joint.biases
        numbers = torch.arange(2**self.hidden_units, device=like.device)
        return enumeration.states(numbers, (self.hidden_units,), self.unit_values, like.dtype)

    def posterior_energy(self, x: Tensor, rng: Generator) -> Tensor:
        """The energy: q is exact, by enumeration."""
        return self.forward(x)

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """The free energy at the lower value minus that at the higher one."""
        v, (low, high) = x.flatten(1), self.unit_values
        is_site = sites.unsqueeze(1) == torch.arange(v.shape[1], device=v.device)  # (K, d)
        at_low, at_high = (torch.where(is_site, value, v.unsqueeze(1)) for value in (low, high))  # (B, K, d)
        gain: Tensor = self(at_low.flatten(0, 1)) - self(at_high.flatten(0, 1))
        return gain.view(len(v), len(sites))

    def joint_energy(self, units: Tensor) -> Tensor:
        """The energy of the whole machine."""
        energy: Tensor = self.joint(units)
        return energy

    def draw_hidden(self, x: Tensor, rng: Generator) -> Tensor:
        """h given v, by enumeration."""
        weights = self._hidden_weights(x.flatten(1), self.joint.weights())
        gumbel = -torch.empty_like(weights).exponential_(generator=rng).log()
        drawn = self._hidden_states().index_select(0, (weights + gumbel).argmax(1))
        total = weights.sum(1, keepdim=True)
        return drawn + (total - total)  # NaN if an energy is

    def activations(self, x: Tensor) -> list[Tensor]:
        """`p(h_j = high | v)`, by enumeration."""
        p = self._hidden_weights(x.flatten(1), self.joint.weights()).softmax(1)
        return [p @ (self._hidden_states() == self.unit_values[1]).to(p.dtype)]

    def receptive_fields(self) -> list[Tensor]:
        """`W_hv`."""
        count = prod(self.event)
        return [self.joint.weights()[count:, :count].reshape(-1, *self.event)]

    def blocks(self) -> list[Tensor]:
        """Blocks of units of the whole machine that do not interact with each other."""
        return self.joint.blocks()

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """Units that do not interact, given all others."""
        return self.joint.draw_units(units, sites, temperature, rng)

    def log_z(self) -> Tensor:
        """log Z by enumeration of all units, differentiable in all parameters."""
        return self.joint.log_z()

    def ground_state(self) -> Tensor:
        """The visible state of the lowest free energy, by enumeration."""
        return enumeration.lowest(self, self.event, self.unit_values, self.joint.biases)

    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """The visible part of exact samples of all units."""
        return self.joint.sample_exact(n, rng)[:, : prod(self.event)].reshape(n, *self.event)
