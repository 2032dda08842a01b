"""Energies with pairwise interactions of categorical units."""

from __future__ import annotations

from abc import abstractmethod
from itertools import chain

import torch
from torch import Generator, Tensor, nn

from ebmkit.chains.one_hot import one_hot
from ebmkit.components.models.nets.pairwise import colouring
from ebmkit.maths import enumeration
from ebmkit.maths.categories import draw_categories


class CategoricalPairwise(nn.Module):
    """`E(x) = -sum_{i<j} J_ij(x_i, x_j) - sum_i h_i(x_i)` on units of K categories, with J_ij(a, b) = J_ji(b, a).

    A subclass computes the field `f_i(a) = sum_j J_ij(a, x_j) + h_i(a)`. As no unit interacts with itself, the field at
    a unit does not depend on its own category, and is its log probability given all others, up to a constant.
    """

    order: Tensor

    def __init__(self, event: tuple[int, ...], categories: int, units: int, pairs: Tensor) -> None:
        """`pairs (2, P)` are the units that interact, each pair once with the lower unit first."""
        super().__init__()
        self.event = event
        self.unit_values = tuple(map(float, range(categories)))
        blocks = colouring(units, pairs)
        self._sizes = [len(block) for block in blocks]
        # Derived from the parameters of the model, so not part of its state.
        self.register_buffer("order", torch.tensor([*chain.from_iterable(blocks)]), persistent=False)

    @abstractmethod
    def local_field(self, hot: Tensor, sites: Tensor | None = None) -> Tensor:
        """`f_i`, `(B, S, K)`, of the units `sites (S,)` of one-hot states `(B, d, K)`; of all units without `sites`."""

    @abstractmethod
    def bias(self) -> Tensor:
        """h, `(d, K)`."""

    def _hot(self, x: Tensor) -> Tensor:
        return one_hot(x.flatten(1), len(self.unit_values))

    def forward(self, x: Tensor) -> Tensor:
        return self._energy(self._hot(x))[0]

    def one_hot_energy(self, hot: Tensor) -> Tensor:
        """The energy of one-hot vectors `(B, *event, K)`."""
        return self._energy(hot.flatten(1, -2))[0]

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E`, and its gradient in one-hot vectors, `-f`."""
        energy, field = self._energy(self._hot(x))
        return energy, -field.view(*x.shape, -1)

    def _energy(self, hot: Tensor) -> tuple[Tensor, Tensor]:
        """The energy of one-hot vectors `(B, d, K)`, and the field. In E a pair counts once, in the field twice."""
        field = self.local_field(hot)
        return -(hot * (field + self.bias())).sum((1, 2)) / 2, field

    def log_odds(self, x: Tensor, sites: Tensor) -> Tensor:
        """The field at these units, `(B, S, K)`."""
        return self.local_field(self._hot(x), sites)

    def blocks(self) -> list[Tensor]:
        """Blocks of units that do not interact with each other."""
        return list(torch.split(self.order, self._sizes))

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """Units that do not interact, given all others."""
        heat = temperature.unsqueeze(-1) if isinstance(temperature, Tensor) else temperature
        return draw_categories(self.log_odds(units, sites) / heat, rng)

    def log_z(self) -> Tensor:
        """log Z by enumeration, differentiable in all parameters."""
        return self._log_weights().logsumexp(0)

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Exact samples by enumeration of all states."""
        weights, values = self._log_weights(), self.unit_values
        drawn = enumeration.states(enumeration.draw(weights, n, rng, len(values)), self.event, values, weights.dtype)
        total = weights.logsumexp(0)
        return drawn + (total - total)  # zero, or NaN if an energy is: draws would hide it

    def ground_state(self) -> Tensor:
        """The state of the lowest energy, by enumeration."""
        return enumeration.lowest(self, self.event, self.unit_values, self.bias())

    def _log_weights(self) -> Tensor:
        return enumeration.log_weights(self, self.event, self.unit_values, self.bias())
