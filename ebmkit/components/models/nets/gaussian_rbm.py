"""The Gaussian-Bernoulli restricted Boltzmann machine, as a module."""

from __future__ import annotations

from math import log, pi

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name
from torch.utils.checkpoint import checkpoint

from ebmkit.components.models.nets.layer_masses import BLOCK
from ebmkit.components.models.nets.restricted import Restricted
from ebmkit.maths import enumeration
from ebmkit.maths.two_valued import log_sum, mean


class GaussianRBMEnergy(Restricted):
    """`E(v, h) = sum_i (v_i - b_i)^2 / (2 std_i^2) - c'h - (v / std)'Wh`, with real v."""

    def __init__(
        self,
        event: tuple[int, ...],
        hidden_values: tuple[float, float],
        hidden_units: int,
        weights: Tensor | None,
        visible_biases: Tensor | None,
        hidden_biases: Tensor | None,
        std: Tensor,
        learn_std: bool,
    ) -> None:
        super().__init__(event, hidden_values, hidden_units, weights, visible_biases, hidden_biases)
        #: Logarithms, so that training keeps standard deviations positive.
        self.log_std = nn.Parameter(std.log().to(self.weights.dtype), requires_grad=learn_std)

    @property
    def std(self) -> Tensor:
        """`(D,)`."""
        return self.log_std.exp()

    def scaled(self, v: Tensor) -> Tensor:
        return v / self.std

    def visible_energy(self, v: Tensor) -> Tensor:
        return ((v - self.visible_biases) / self.std).square().sum(1) / 2

    def score(self, v: Tensor) -> tuple[Tensor, Tensor]:
        """`-dE/dv` of flat visible states, and `E[h | v]`."""
        means = self.hidden_means(v)
        return (F.linear(means, self.weights) - (v - self.visible_biases) / self.std) / self.std, means

    def energy_and_grad(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """`E` and `dE/dv = ((v - b) / std - W E[h | v]) / std`."""
        v = x.flatten(1)
        field = self.hidden_field(v)
        energy = self.visible_energy(v) - log_sum(field, self.hidden_values).sum(1)
        pull = F.linear(mean(field, self.hidden_values), self.weights)
        return energy, (((v - self.visible_biases) / self.std - pull) / self.std).view_as(x)

    def draw_visible(self, field: Tensor, sites: Tensor | None, temperature: Tensor | float, rng: Generator) -> Tensor:
        """`N(b + std W h, T std^2)`."""
        at = slice(None) if sites is None else sites
        biases, std = self.visible_biases[at], self.std[at]
        noise = torch.empty_like(field).normal_(generator=rng)
        return biases + std * (field + noise * temperature**0.5)

    def visible_parameters(self, field: Tensor) -> Tensor:
        """`b + std W h`."""
        return self.visible_biases + self.std * field

    def log_sum_visible(self, field: Tensor) -> Tensor:
        """The Gaussian integral: `sum_i log(sqrt(2 pi) std_i) + b_i field_i / std_i + field_i^2 / 2`."""
        return (field * (self.visible_biases / self.std + field / 2)).sum(1) + self._log_volume()

    def _log_volume(self) -> Tensor:
        return self.log_std.sum() + len(self.log_std) / 2 * log(2 * pi)

    def log_z(self) -> Tensor:
        """log Z by enumeration of the hidden layer, differentiable in all parameters.

        With v integrated out, hidden units interact in pairs: `log sum_h exp(a'h + h'Gh / 2)` with `G = W'W` and
        `a = c + W'(b / std)`. With h in two halves, the products of their states are a matrix of rank H / 2, which is
        summed in blocks of rows: 2^H exponentials, and no visible unit for any of them.
        """
        couplings = self.weights.T @ self.weights
        field = self.hidden_biases + self.weights.T @ (self.visible_biases / self.std)
        size = self.hidden_units // 2
        upper, lower = self._all_states(size), self._all_states(self.hidden_units - size)

        def alone(h: Tensor, part: slice) -> Tensor:
            return h @ field[part] + ((h @ couplings[part, part]) * h).sum(1) / 2

        above, below = alone(upper, slice(size)), alone(lower, slice(size, None))

        def summed(rows: Tensor, weights: Tensor) -> Tensor:
            return (rows @ couplings[:size, size:] @ lower.T + below).logsumexp(1) + weights

        count = max(1, BLOCK // len(lower))
        blocks = zip(torch.split(upper, count), torch.split(above, count), strict=True)
        if torch.is_grad_enabled() and len(upper) > count:  # the matrix of all products would be kept for the gradient
            sums = [checkpoint(summed, *block, use_reentrant=False) for block in blocks]
        else:
            sums = [summed(*block) for block in blocks]
        return torch.cat(sums).logsumexp(0) + self._log_volume()

    def _all_states(self, units: int) -> Tensor:
        numbers = torch.arange(2**units, device=self.weights.device)
        return enumeration.states(numbers, (units,), self.hidden_values, self.weights.dtype)
