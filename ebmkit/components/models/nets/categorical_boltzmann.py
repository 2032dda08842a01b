"""The fully visible Boltzmann machine with categorical units, as a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

import torch
from torch import Tensor, nn

from ebmkit.components.models.nets.boltzmann import SMALL
from ebmkit.components.models.nets.categorical_pairwise import CategoricalPairwise


class CategoricalBoltzmannEnergy(CategoricalPairwise):
    """One parameter `J_ij(a, b)` for each pair of connected units and of categories, so that J stays symmetric."""

    pairs: Tensor

    def __init__(self, event: tuple[int, ...], categories: int, weights: Tensor | None, biases: Tensor | None) -> None:
        """`weights (d, d, K, K)`, with a diagonal of zeros, and `biases (d, K)`."""
        units, dtype = prod(event), torch.get_default_dtype()
        connected = torch.ones(units, units) if weights is None else weights.abs().sum((2, 3))
        pairs = connected.triu(1).nonzero().T
        super().__init__(event, categories, units, pairs)
        self.register_buffer("pairs", pairs, persistent=False)
        if weights is None:
            given = torch.empty(pairs.shape[1], categories, categories, dtype=dtype).normal_(0, SMALL)
        else:
            given = weights[pairs[0], pairs[1]].to(dtype)
        self.couplings = nn.Parameter(given)
        self.biases = nn.Parameter(torch.zeros(units, categories, dtype=dtype) if biases is None else biases.to(dtype))
        self._baked: Tensor | None = None

    def weights(self) -> Tensor:
        """J as a matrix `(d K, d K)`, whose rows are categories of units, unit by unit."""
        if self._baked is not None:
            return self._baked
        one, other = self.pairs
        units, categories = self.biases.shape
        upper = self.couplings.new_zeros(units, units, categories, categories).index_put((one, other), self.couplings)
        matrix = upper.transpose(1, 2).reshape(units * categories, -1)
        return matrix + matrix.T

    def local_field(self, hot: Tensor, sites: Tensor | None = None) -> Tensor:
        weights: Tensor = self.weights()
        biases: Tensor = self.biases
        if sites is not None:
            rows = weights.view(*biases.shape, -1).index_select(0, sites)
            weights, biases = rows.flatten(0, 1), biases.index_select(0, sites)
        return (hot.flatten(1) @ weights.T).view(len(hot), *biases.shape) + biases

    def bias(self) -> Tensor:
        return self.biases

    @contextmanager
    def baked(self) -> Iterator[None]:
        """Compute J once for a whole chain."""
        before = self._baked
        with torch.no_grad():
            self._baked = self.weights()
        try:
            yield
        finally:
            self._baked = before
