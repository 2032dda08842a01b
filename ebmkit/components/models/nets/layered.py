"""Layers of units of two values, each connected to its neighbours, as functions of weights and biases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.maths import enumeration
from ebmkit.maths.two_valued import log_sum, mean

#: States of some layers by their numbers, `(B, units)` each.
Layers = Mapping[int, Tensor]


class Layered(NamedTuple):
    """`E = -sum_k b_k'h_k - sum_k h_{k-1}'W_k h_k` of layers 0, ..., L.

    Given every second layer the units of the others are independent.
    """

    #: `W_k` is `weights[k - 1]`.
    weights: list[Tensor]
    biases: list[Tensor]
    values: tuple[float, float]

    @property
    def top(self) -> int:
        """L."""
        return len(self.weights)

    def every_second(self, first: int) -> range:
        """The numbers of every second layer."""
        return range(first, self.top + 1, 2)

    def split(self, units: Tensor) -> dict[int, Tensor]:
        """The layers of joint states `(B, U)`."""
        return dict(enumerate(torch.split(units, [len(bias) for bias in self.biases], 1)))

    def field(self, number: int, layers: Layers) -> Tensor:
        """What multiplies the units of a layer, given its neighbours."""
        field = self.biases[number]
        if number > 0:
            field = field + layers[number - 1] @ self.weights[number - 1]
        if number < self.top:
            field = field + F.linear(layers[number + 1], self.weights[number])
        return field

    def upwards(self, number: int, below: Tensor) -> Tensor:
        """The same, with the unknown input from the layer above replaced by as much again from below."""
        times = 2.0 if number < self.top else 1.0
        return times * (below @ self.weights[number - 1]) + self.biases[number]

    def energy(self, layers: Layers) -> Tensor:
        """`(B,)`. It is linear in every layer, so that means give the mean energy of independent units."""
        energy = -(layers[0] @ self.biases[0])
        for number, weights in enumerate(self.weights, 1):
            energy = energy - (layers[number] * (layers[number - 1] @ weights + self.biases[number])).sum(1)
        return energy

    # Mean field ------------------------------------------------------------------------------------------------------

    def mean_field(self, v: Tensor, passes: int) -> dict[int, Tensor]:
        """The fields of the layers above v, whose units are independent with the probabilities of their fields.

        A pass updates layers of odd number given the means of the others, then those of even number. Each update is the
        minimum of `E_q[E] - H(q)` in the layers that it changes.
        """
        fields: dict[int, Tensor] = {}
        means = {0: v}
        for number in range(1, self.top + 1):
            fields[number] = self.upwards(number, means[number - 1])
            means[number] = mean(fields[number], self.values)
        for _ in range(passes):
            for number in (*self.every_second(1), *self.every_second(2)):
                fields[number] = self.field(number, means)
                means[number] = mean(fields[number], self.values)
        return fields

    def mean_field_energy(self, v: Tensor, fields: Layers) -> Tensor:
        """`E_q[E] - H(q)`, `(B,)`, of independent units in these fields."""
        means = {number: mean(field, self.values) for number, field in fields.items()}
        entropies = [(log_sum(field, self.values) - field * means[number]).sum(1) for number, field in fields.items()]
        return self.energy({0: v, **means}) - torch.stack(entropies).sum(0)

    # Sums over states ------------------------------------------------------------------------------------------------

    def units(self, numbers: Iterable[int]) -> int:
        """The number of units of these layers."""
        return sum(len(self.biases[number]) for number in numbers)

    def states(self, rows: Tensor, numbers: range) -> dict[int, Tensor]:
        """The states of these layers with these numbers (see `ebmkit.maths.enumeration`)."""
        sizes = [len(self.biases[number]) for number in numbers]
        states = enumeration.states(rows, (sum(sizes),), self.values, self.biases[0].dtype)
        return dict(zip(numbers, torch.split(states, sizes, 1), strict=True))

    def linear(self, layers: Layers) -> Tensor:
        """`sum_k b_k'h_k`, `(B,)`, of layers that are not neighbours."""
        return torch.stack([h @ self.biases[number] for number, h in layers.items()]).sum(0)

    def summed(self, numbers: Iterable[int], layers: Layers) -> Tensor:
        """The log of the sum over all states of some layers, given their neighbours; zero without any."""
        zero = self.biases[0].new_zeros(())
        return sum((log_sum(self.field(number, layers), self.values).sum(1) for number in numbers), zero)
