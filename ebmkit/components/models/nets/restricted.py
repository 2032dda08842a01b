"""Two layers of units, visible and hidden, without connections inside a layer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from math import prod

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.components.models.nets.layer_masses import LayerMasses
from ebmkit.maths import enumeration
from ebmkit.maths.two_valued import draw_values, log_odds, log_sum, mean

#: Standard deviation of initial weights that the spec does not give.
SMALL = 0.01


class Restricted(nn.Module):
    """`E(v, h) = E(v) - (W'u(v) + c)'h`, with hidden units of two values and `u` linear in every visible unit.

    Given v the hidden units are independent, so that the free energy `E(v) - sum_j log sum_h exp((W'u + c)_j h)` is
    the energy of visible states, and h need not be kept between two chains.
    """

    visible: Tensor
    hidden: Tensor
    keeps_hidden = False

    def __init__(
        self,
        event: tuple[int, ...],
        hidden_values: tuple[float, float],
        hidden_units: int,
        weights: Tensor | None,
        visible_biases: Tensor | None,
        hidden_biases: Tensor | None,
        numbers_per_unit: int = 1,
    ) -> None:
        """`numbers_per_unit` is the number of rows of the weights, and of biases, for each visible unit."""
        super().__init__()
        self.event = event
        self.hidden_values = hidden_values
        self.hidden_units = hidden_units
        units, dtype = prod(event), torch.get_default_dtype()
        rows = units * numbers_per_unit
        if weights is None:
            weights = torch.empty(rows, hidden_units, dtype=dtype).normal_(0, SMALL)
        self.weights = nn.Parameter(weights.to(dtype))
        self.visible_biases = nn.Parameter(
            torch.zeros(rows, dtype=dtype) if visible_biases is None else visible_biases.to(dtype)
        )
        self.hidden_biases = nn.Parameter(
            torch.zeros(hidden_units, dtype=dtype) if hidden_biases is None else hidden_biases.to(dtype)
        )
        # The two blocks, by the numbers of their units in a joint state.
        self.register_buffer("visible", torch.arange(units), persistent=False)
        self.register_buffer("hidden", torch.arange(units, units + hidden_units), persistent=False)

    @abstractmethod
    def scaled(self, v: Tensor) -> Tensor:
        """`u`, what the weights multiply, of flat visible states."""

    @abstractmethod
    def visible_energy(self, v: Tensor) -> Tensor:
        """`E(v)`, `(B,)`, of flat visible states."""

    @abstractmethod
    def draw_visible(self, field: Tensor, sites: Tensor | None, temperature: Tensor | float, rng: Generator) -> Tensor:
        """Visible units, all or those at `sites`, given the inputs `W h` to them."""

    @abstractmethod
    def visible_parameters(self, field: Tensor) -> Tensor:
        """Visible units given the inputs `W h` to them: log odds of the higher value, or of all
        categories, or the mean of real ones."""

    @abstractmethod
    def log_sum_visible(self, field: Tensor) -> Tensor:
        """`log sum_v exp(-E(v) + field'u(v))`, or the integral, for inputs `(B, D)`."""

    def rows_of(self, sites: Tensor) -> Tensor:
        """The rows of the weights that belong to visible units `sites`, unit by unit."""
        return sites

    def hidden_field(self, v: Tensor) -> Tensor:
        """`W'u(v) + c`, `(B, H)`, of flat visible states."""
        return F.linear(self.scaled(v), self.weights.T, self.hidden_biases)

    def forward(self, x: Tensor) -> Tensor:
        v = x.flatten(1)
        return self.visible_energy(v) - log_sum(self.hidden_field(v), self.hidden_values).sum(1)

    def hidden_means(self, x: Tensor) -> Tensor:
        """`E[h | v]`, `(B, H)`."""
        return mean(self.hidden_field(x.flatten(1)), self.hidden_values)

    def activations(self, x: Tensor) -> list[Tensor]:
        """`p(h_j = high | v)` of the only layer."""
        low, high = self.hidden_values
        return [torch.sigmoid((high - low) * self.hidden_field(x.flatten(1)))]

    def receptive_fields(self) -> list[Tensor]:
        """The derivatives of `W'u(v)` in v."""
        slope = self.scaled(torch.ones_like(self.visible_biases))  # u is linear and has no constant
        return [(self.weights.T * slope).view(-1, *self.event)]

    def reconstruct(self, x: Tensor) -> Tensor:
        """v given `E[h | v]`."""
        return self.visible_parameters(F.linear(self.hidden_means(x), self.weights)).view_as(x)

    def posterior_energy(self, x: Tensor, rng: Generator) -> Tensor:
        """The energy: hidden units are independent given v, so that q is exact."""
        energy: Tensor = self(x)
        return energy

    # Joint states --------------------------------------------------------------------------------------------------

    def joint_energy(self, units: Tensor) -> Tensor:
        """`E(v, h)`."""
        v, h = self._layers(units)
        return self.visible_energy(v) - (self.hidden_field(v) * h).sum(1)

    def _layers(self, units: Tensor) -> tuple[Tensor, Tensor]:
        count = len(self.visible)
        return units[:, :count], units[:, count:]

    def draw_hidden(self, x: Tensor, rng: Generator) -> Tensor:
        """h given v."""
        return self._draw_hidden(self.hidden_field(x.flatten(1)), 1.0, rng)

    def _draw_hidden(self, field: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        return draw_values(log_odds(field, self.hidden_values, temperature), self.hidden_values, rng)

    def blocks(self) -> list[Tensor]:
        """The visible layer, then the hidden one."""
        return [self.visible, self.hidden]

    def draw_units(self, units: Tensor, sites: Tensor, temperature: Tensor | float, rng: Generator) -> Tensor:
        """A layer, or some of its units, given the other layer."""
        v, h = self._layers(units)
        if sites is self.visible:
            return self.draw_visible(F.linear(h, self.weights), None, temperature, rng)
        if sites is self.hidden:
            return self._draw_hidden(self.hidden_field(v), temperature, rng)
        # Which layer it is stays on the device: both are drawn, and one is taken.
        is_hidden, count = sites >= len(self.visible), len(self.visible)
        at_v, at_h = sites.clamp(max=count - 1), (sites - count).clamp(min=0)
        seen = self.draw_visible(F.linear(h, self.weights.index_select(0, self.rows_of(at_v))), at_v, temperature, rng)
        field = self.scaled(v) @ self.weights.index_select(1, at_h) + self.hidden_biases.index_select(0, at_h)
        return torch.where(is_hidden, self._draw_hidden(field, temperature, rng), seen)

    def sweep(self, units: Tensor, temperature: Tensor | float, rng: Generator) -> tuple[Tensor, Tensor]:
        """The visible layer given the hidden one, then the hidden one; and the energies of the states before, which
        need one of the two products."""
        v, h = self._layers(units)
        field = F.linear(h, self.weights)
        product = (self.scaled(v) * field).sum(1)
        energy = self.visible_energy(v) - product - h @ self.hidden_biases
        v = self.draw_visible(field, None, temperature, rng)
        return torch.cat([v, self._draw_hidden(self.hidden_field(v), temperature, rng)], 1), energy

    # Sums over all states ------------------------------------------------------------------------------------------

    def log_z(self) -> Tensor:
        """log Z by enumeration of one layer, differentiable in all parameters."""
        return self._hidden_masses().log_sum()

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Exact samples: hidden units by enumeration, then visible ones given them."""
        weights = self._hidden_masses().table()
        numbers = enumeration.draw(weights, n, rng)
        h = enumeration.states(numbers, (self.hidden_units,), self.hidden_values, weights.dtype)
        drawn = self.draw_visible(F.linear(h, self.weights), None, 1.0, rng)
        total = weights.logsumexp(0)
        return (drawn + (total - total)).view(n, *self.event)  # NaN if an energy is

    def _hidden_masses(self) -> LayerMasses:
        """The masses of all states of the hidden layer."""
        return self._masses(
            lambda h: h @ self.hidden_biases + self.log_sum_visible(F.linear(h, self.weights)),
            self.hidden_units,
            self.hidden_values,
        )

    def _masses(self, log_mass: Callable[[Tensor], Tensor], units: int, values: tuple[float, float]) -> LayerMasses:
        return LayerMasses(log_mass, units, values, len(self.visible) + self.hidden_units, self.hidden_biases)
