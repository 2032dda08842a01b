"""Restricted Boltzmann machines with tied copies of their layers, as modules."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from torch import Tensor, nn
from torch.nn.utils import parametrize

from ebmkit.components.models.copies import copied
from ebmkit.components.models.nets.rbm import RBMEnergy


class Copies(nn.Module):
    """`strength` times a parameter, repeated this many times along each of its dimensions."""

    def __init__(self, *counts: int, strength: float = 1.0) -> None:
        super().__init__()
        self.counts = counts
        self.strength = strength

    def forward(self, original: Tensor) -> Tensor:
        return self.strength * original.repeat(self.counts)

    def right_inverse(self, repeated: Tensor) -> Tensor:
        """The original of the first copy."""
        block = tuple(slice(size // count) for size, count in zip(repeated.shape, self.counts, strict=True))
        return repeated[block] / self.strength


class Single(NamedTuple):
    """The parameters of a machine without copies."""

    weights: Tensor
    visible_biases: Tensor
    hidden_biases: Tensor


class TiedRBMEnergy(RBMEnergy):
    """`E = -sum_a b'v_a - sum_c c'h_c - strength sum_ac v_a'W h_c`: a restricted Boltzmann machine whose layers are
    copies of one layer each, with the same weights and biases. A visible state holds all copies, `(A, *event)`."""

    def __init__(
        self, event: tuple[int, ...], values: tuple[float, float], units: int, copies: tuple[int, int], strength: float
    ) -> None:
        """`event` and `units` are those of a single visible and a single hidden layer."""
        below, above = copies
        super().__init__(copied(event, below), values, above * units, None, None, None)
        for name, tied in {
            "weights": Copies(below, above, strength=strength),
            "visible_biases": Copies(below),
            "hidden_biases": Copies(above),
        }.items():
            parametrize.register_parametrization(self, name, tied)

    @property
    def single(self) -> Single:
        """W, b and c themselves: what is trained."""
        tied = cast("Any", self.parametrizations)
        return Single(tied.weights.original, tied.visible_biases.original, tied.hidden_biases.original)
