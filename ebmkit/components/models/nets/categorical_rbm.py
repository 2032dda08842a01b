"""The restricted Boltzmann machine with categorical visible units, as a module."""

from __future__ import annotations

import torch
from torch import Generator, Tensor
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.chains.one_hot import one_hot
from ebmkit.components.models.nets.restricted import Restricted
from ebmkit.maths.categories import draw_categories
from ebmkit.maths.two_valued import log_sum, mean


class CategoricalRBMEnergy(Restricted):
    """`E(v, h) = -b'u - c'h - u'Wh`, where u is the one-hot vector of v: W and b have K rows for each visible unit."""

    def __init__(
        self,
        event: tuple[int, ...],
        categories: int,
        hidden_values: tuple[float, float],
        hidden_units: int,
        weights: Tensor | None,
        visible_biases: Tensor | None,
        hidden_biases: Tensor | None,
    ) -> None:
        super().__init__(
            event, hidden_values, hidden_units, weights, visible_biases, hidden_biases, numbers_per_unit=categories
        )
        self.unit_values = tuple(map(float, range(categories)))

    @property
    def _categories(self) -> int:
        return len(self.unit_values)

    def scaled(self, v: Tensor) -> Tensor:
        """One-hot vectors `(B, d K)`."""
        return one_hot(v, self._categories).flatten(1)

    def rows_of(self, sites: Tensor) -> Tensor:
        categories = torch.arange(self._categories, device=sites.device)
        return (sites.unsqueeze(1) * self._categories + categories).flatten()

    def visible_energy(self, v: Tensor) -> Tensor:
        return -(self.scaled(v) @ self.visible_biases)

    def one_hot_energy(self, hot: Tensor) -> Tensor:
        """The free energy of one-hot vectors `(B, *event, K)`."""
        u = hot.flatten(1)
        field = F.linear(u, self.weights.T, self.hidden_biases)
        return -(u @ self.visible_biases) - log_sum(field, self.hidden_values).sum(1)

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The free energy, and its gradient in one-hot vectors, `-b - W E[h | v]`."""
        v = x.flatten(1)
        field = self.hidden_field(v)
        energy = self.visible_energy(v) - log_sum(field, self.hidden_values).sum(1)
        slope = -F.linear(mean(field, self.hidden_values), self.weights, self.visible_biases)
        return energy, slope.view(*x.shape, -1)

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """Minus the free energy at each category of the units, `(B, S, K)`, up to a constant of each unit."""
        v, rows = x.flatten(1), self.rows_of(sites)
        weights = self.weights.index_select(0, rows).view(len(sites), self._categories, -1)
        present = one_hot(v.index_select(1, sites), self._categories)
        without = self.hidden_field(v).unsqueeze(1) - torch.einsum("bsk,skh->bsh", present, weights)
        field = without.unsqueeze(2) + weights  # (B, S, K, H)
        biases = self.visible_biases.index_select(0, rows).view(len(sites), -1)
        return log_sum(field, self.hidden_values).sum(3) + biases

    def draw_visible(self, field: Tensor, sites: Tensor | None, temperature: Tensor | float, rng: Generator) -> Tensor:
        biases = self.visible_biases if sites is None else self.visible_biases.index_select(0, self.rows_of(sites))
        logits = (field + biases) / temperature
        return draw_categories(logits.view(len(logits), -1, self._categories), rng)

    def visible_parameters(self, field: Tensor) -> Tensor:
        """Log probabilities of all categories, unit by unit, up to a constant of each unit."""
        return field + self.visible_biases

    def log_sum_visible(self, field: Tensor) -> Tensor:
        by_unit = self.visible_parameters(field).view(len(field), -1, self._categories)
        return by_unit.logsumexp(2).sum(1)
