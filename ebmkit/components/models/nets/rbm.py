"""The restricted Boltzmann machine, as a module."""

from __future__ import annotations

import torch
from torch import Generator, Tensor
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.components.models.nets.layer_masses import LayerMasses
from ebmkit.components.models.nets.restricted import Restricted
from ebmkit.maths import enumeration, two_valued
from ebmkit.maths.two_valued import draw_values, log_sum, mean


class RBMEnergy(Restricted):
    """`E(v, h) = -b'v - c'h - v'Wh` on units of two values."""

    def __init__(
        self,
        event: tuple[int, ...],
        values: tuple[float, float],
        hidden_units: int,
        weights: Tensor | None,
        visible_biases: Tensor | None,
        hidden_biases: Tensor | None,
    ) -> None:
        super().__init__(event, values, hidden_units, weights, visible_biases, hidden_biases)
        self.unit_values = values

    def scaled(self, v: Tensor) -> Tensor:
        return v

    def visible_energy(self, v: Tensor) -> Tensor:
        return -(v @ self.visible_biases)

    def visible_field(self, h: Tensor) -> Tensor:
        """`W h + b`, `(B, D)`."""
        return F.linear(h, self.weights, self.visible_biases)

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dv = -b - W E[h | v]`."""
        v = x.flatten(1)
        field = self.hidden_field(v)
        energy = self.visible_energy(v) - log_sum(field, self.hidden_values).sum(1)
        slope = -F.linear(mean(field, self.hidden_values), self.weights, self.visible_biases)
        return energy, slope.view_as(x)

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """The free energy at the lower value minus that at the higher one."""
        low, high = self.unit_values
        v, weights = x.flatten(1), self.weights.index_select(0, sites)
        away = (v.index_select(1, sites) - low).unsqueeze(2) * weights
        at_low = self.hidden_field(v).unsqueeze(1) - away  # (B, K, H)
        at_high = at_low + (high - low) * weights
        gain = (log_sum(at_high, self.hidden_values) - log_sum(at_low, self.hidden_values)).sum(2)
        return gain + (high - low) * self.visible_biases.index_select(0, sites)

    def draw_visible(self, field: Tensor, sites: Tensor | None, temperature: Tensor | float, rng: Generator) -> Tensor:
        biases = self.visible_biases if sites is None else self.visible_biases.index_select(0, sites)
        return draw_values(two_valued.log_odds(field + biases, self.unit_values, temperature), self.unit_values, rng)

    def visible_parameters(self, field: Tensor) -> Tensor:
        """`(high - low) (W h + b)`."""
        low, high = self.unit_values
        return (high - low) * (field + self.visible_biases)

    def log_sum_visible(self, field: Tensor) -> Tensor:
        return log_sum(field + self.visible_biases, self.unit_values).sum(1)

    def log_z(self) -> Tensor:
        """log Z by enumeration of the smaller layer, differentiable in all parameters."""
        if self.hidden_units <= len(self.visible):
            return super().log_z()
        return self._visible_masses().log_sum()

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Exact samples by enumeration of the smaller layer."""
        if self.hidden_units <= len(self.visible):
            return super().sample_exact(n, rng)
        weights = self._visible_masses().table()
        drawn = enumeration.states(enumeration.draw(weights, n, rng), self.event, self.unit_values, weights.dtype)
        total = weights.logsumexp(0)
        return drawn + (total - total)

    def _visible_masses(self) -> LayerMasses:
        return self._masses(lambda v: -self(v), len(self.visible), self.unit_values)
