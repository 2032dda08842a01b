"""The path from independent units to a machine of two layers, without its hidden units, as a module."""

from __future__ import annotations

from math import log
from typing import cast

import torch
from torch import Generator, Tensor, nn

from ebmkit.components.metrics.nets.bases import BernoulliBase
from ebmkit.contracts.abilities import Harmonium
from ebmkit.maths.two_valued import draw_values, log_sum, mean


class AnnealedLayers(nn.Module):
    """`E_beta(v) = (1 - beta) (E_base(v) + H log 2) - beta b'v - sum_j log sum_h exp(beta (v'W + c)_j h)`.

    This is the path of `E_beta(v, h) = (1 - beta) (E_base(v) + H log 2) + beta E(v, h)`, on which hidden units are even
    coins at the base, with these summed out: the weights vary less, and each layer is drawn given the other. Weights
    and draws at one state need the same product `v'W`, which is kept.
    """

    def __init__(self, base: BernoulliBase, model: nn.Module) -> None:
        super().__init__()
        self.base, self.model = base, model
        self.unit_values = base.unit_values
        self.beta: Tensor | float = 1.0
        self._last: tuple[Tensor, int, Tensor] | None = None

    @property
    def _layers(self) -> Harmonium:
        return cast("Harmonium", self.model)

    def _field(self, x: Tensor) -> Tensor:
        """`v'W + c`."""
        if self._last is not None and x._version == self._last[1] and _memory(x) is _memory(self._last[0]):
            return self._last[2]
        field = self._layers.hidden_field(x.flatten(1))
        self._last = x, x._version, field
        return field

    def _energy(self, x: Tensor, beta: Tensor | float) -> Tensor:
        layers = self._layers
        summed = log_sum(beta * self._field(x), layers.hidden_values).sum(1)
        return (1 - beta) * self._coins(x) + beta * layers.visible_energy(x.flatten(1)) - summed

    def _coins(self, x: Tensor) -> Tensor:
        """The energy of the base and of hidden units that are even coins."""
        energy: Tensor = self.base(x)
        return energy + self._layers.hidden_units * log(2)

    def forward(self, x: Tensor) -> Tensor:
        return self._energy(x, self.beta)

    @torch.no_grad()
    def increment(self, x: Tensor, before: Tensor, now: Tensor, *, gradient: bool = False) -> Tensor:
        """The log weight `E_before - E_now` of states, `(B,)`."""
        return self._energy(x, before) - self._energy(x, now)

    @torch.no_grad()
    def tilt(self, x: Tensor, *, gradient: bool = False) -> Tensor:
        """Minus the derivative of `E_beta` in beta, `(B,)`."""
        field, layers = self._field(x), self._layers
        means = mean(self.beta * field, layers.hidden_values)
        return self._coins(x) - layers.visible_energy(x.flatten(1)) + (field * means).sum(1)

    # What `gibbs` needs ----------------------------------------------------------------------------------------------

    @torch.no_grad()
    def sweep(self, units: Tensor, temperature: Tensor | float, rng: Generator) -> tuple[Tensor, Tensor]:
        """Hidden units given the visible ones, then these; and the energies of the states before."""
        layers, (low, high) = self._layers, self.unit_values
        inverse = self.beta / temperature
        energy, field = self._energy(units, self.beta), self._field(units)
        span = layers.hidden_values[1] - layers.hidden_values[0]
        h = draw_values(span * inverse * field, layers.hidden_values, rng)
        odds = inverse * (high - low) * layers.visible_field(h) + (1 - self.beta) / temperature * self.base.logits
        return draw_values(odds, self.unit_values, rng), energy


def _memory(x: Tensor) -> Tensor:
    """The tensor of which this one is another shape."""
    return x if x._base is None else x._base
