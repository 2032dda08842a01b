"""The deep belief network, as a module."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.components.models.nets.rbm import RBMEnergy
from ebmkit.maths import enumeration
from ebmkit.maths.two_valued import log_sum

#: Numbers in a block of the matrix of log p(x | h) for all h.
BLOCK = 1 << 22


class DBNEnergy(nn.Module):
    """Restricted Boltzmann machines on top of each other. The last one is the top; the others are used downwards only:
    `p(x) = sum_h p(x | h_1) p(h_1 | h_2) ... p(h_{L-1})`."""

    def __init__(self, names: Sequence[str], layers: Sequence[RBMEnergy]) -> None:
        super().__init__()
        self.names = list(names)
        self.layers = nn.ModuleList(layers)
        self.event = layers[0].event
        self.unit_values = layers[0].unit_values

    def _layer(self, number: int) -> RBMEnergy:
        layer = self.layers[number]
        assert isinstance(layer, RBMEnergy)
        return layer

    # Parts -----------------------------------------------------------------------------------------------------------

    def part(self, name: str) -> nn.Module:
        """A layer with the one below it."""
        return self._layer(self.names.index(name))

    @torch.no_grad()
    def begin_part(self, name: str) -> None:
        """Start a layer from the transpose of the one below, if sizes allow; the distribution of x is then the same as
        without it."""
        number = self.names.index(name)
        if number == 0:
            return
        layer, below = self._layer(number), self._layer(number - 1)
        if layer.weights.shape == below.weights.T.shape:
            layer.weights.copy_(below.weights.T)
            layer.hidden_biases.copy_(below.visible_biases)
        layer.visible_biases.copy_(below.hidden_biases)

    def seen_by(self, name: str, x: Tensor, rng: Generator) -> Tensor:
        """Hidden units of the layer below, drawn upwards from x."""
        h = x
        for number in range(self.names.index(name)):
            h = self._layer(number).draw_hidden(h, rng)
        return h

    # From the top down -----------------------------------------------------------------------------------------------

    @property
    def _top(self) -> RBMEnergy:
        return self._layer(-1)

    def draw_top(self, x: Tensor, rng: Generator) -> Tensor:
        """The top two layers, drawn upwards from x."""
        h = self.seen_by(self.names[-1], x, rng).flatten(1)
        return torch.cat([h, self._top.draw_hidden(h, rng)], 1)

    def sweep_top(self, units: Tensor, rng: Generator) -> Tensor:
        """A sweep of block Gibbs sampling: the lower of the two layers, then the upper one."""
        units = units.clone()
        for sites in self._top.blocks():
            units.index_copy_(1, sites, self._top.draw_units(units, sites, 1.0, rng))
        return units

    def descend(self, units: Tensor, rng: Generator) -> Tensor:
        """x, drawn layer by layer from the lower layer of the top."""
        return self._down(units[:, : len(self._top.visible)], rng)

    def _down(self, h: Tensor, rng: Generator) -> Tensor:
        for number in reversed(range(len(self.layers) - 1)):
            layer = self._layer(number)
            h = layer.draw_visible(F.linear(h, layer.weights), None, 1.0, rng)
        return h.view(-1, *self.event)

    # Mean-field passes -----------------------------------------------------------------------------------------------

    def activations(self, x: Tensor) -> list[Tensor]:
        """`p(h_k = high)` upwards, with the layer below at its means."""
        found = []
        for number in range(len(self.layers)):
            layer = self._layer(number)
            found += layer.activations(x)
            x = layer.hidden_means(x)
        return found

    def receptive_fields(self) -> list[Tensor]:
        """`W_1`, `W_1 W_2`, and so on, a field per unit."""
        found: list[Tensor] = []
        down: Tensor | None = None
        for number in range(len(self.layers)):
            weights = self._layer(number).weights
            down = weights if down is None else down @ weights
            found.append(down.T.reshape(-1, *self.event))
        return found

    def reconstruct(self, x: Tensor) -> Tensor:
        """Log odds of x after a pass of means up to the highest layer and down again."""
        h, low, high = x, *self.unit_values
        for number in range(len(self.layers)):
            h = self._layer(number).hidden_means(h)
        for number in reversed(range(len(self.layers))):
            layer = self._layer(number)
            log_odds = layer.visible_parameters(F.linear(h, layer.weights))
            h = low + (high - low) * torch.sigmoid(log_odds)
        return log_odds.view_as(x)

    # Bounds and sums over all states ---------------------------------------------------------------------------------

    def log_bounds(self, x: Tensor, rng: Generator) -> Tensor:
        """`log p(x, h) - log q(h | x)` with h drawn upwards from q, for the first 1, ..., L layers as a network.

        Where q is the distribution of h given x, it is log p(x) for every h.
        """
        v, below, bounds = x.flatten(1), torch.zeros(len(x), dtype=x.dtype, device=x.device), []
        for number in range(len(self.layers)):
            layer = self._layer(number)
            bounds.append(below - layer(v) - layer.log_z())
            field = layer.hidden_field(v)
            h = layer.draw_hidden(v, rng)
            upwards = (field * h - log_sum(field, layer.hidden_values)).sum(1)
            below = below + _downwards(layer, v, h) - upwards
            v = h
        return torch.stack(bounds, 1)

    def forward(self, x: Tensor) -> Tensor:
        """`-log p(x) - log Z` of the top, by enumeration of every hidden layer below the highest."""
        log_mass: Tensor | None = None
        for number in reversed(range(len(self.layers) - 1)):
            layer = self._layer(number)
            h = self._all(layer.hidden_units, x)
            log_mass = -self._layer(number + 1)(h) if log_mass is None else log_mass
            seen = self._all(len(layer.visible), x) if number else x.flatten(1)
            log_mass = _mixed(layer, seen, h, log_mass)
        assert log_mass is not None  # there are at least two layers
        return -log_mass

    def _all(self, units: int, like: Tensor) -> Tensor:
        numbers = torch.arange(2**units, device=like.device)
        return enumeration.states(numbers, (units,), self.unit_values, self._top.weights.dtype)

    def log_z(self) -> Tensor:
        """log Z of the top: the layers below are normalised."""
        return self._top.log_z()

    @torch.no_grad()
    def sample_exact(self, n: int, rng: Generator) -> Tensor:
        """Exact samples of the top, then every layer below."""
        return self._down(self._top.sample_exact(n, rng), rng)


def _downwards(layer: RBMEnergy, v: Tensor, h: Tensor) -> Tensor:
    """`log p(v | h)` `(B,)`, row by row."""
    field = F.linear(h, layer.weights, layer.visible_biases)
    return (field * v - log_sum(field, layer.unit_values)).sum(1)


def _mixed(layer: RBMEnergy, v: Tensor, h: Tensor, log_mass: Tensor) -> Tensor:
    """`log sum_h p(v | h) exp(log_mass(h))`, `(B,)`, over all rows of h."""
    field = F.linear(h, layer.weights, layer.visible_biases)
    weights = log_mass - log_sum(field, layer.unit_values).sum(1)
    rows = max(1, BLOCK // len(h))
    return torch.cat([torch.logsumexp(block @ field.T + weights, 1) for block in torch.split(v, rows)])
