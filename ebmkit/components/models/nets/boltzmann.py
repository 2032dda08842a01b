"""The fully visible Boltzmann machine, as a module."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.components.models.nets.pairwise import Pairwise

#: Standard deviation of initial weights that the spec does not give.
SMALL = 0.01


class BoltzmannEnergy(Pairwise):
    """`E(x) = -1/2 x'Wx - b'x` with one parameter per pair of connected units, so that W stays symmetric."""

    pairs: Tensor

    def __init__(
        self, event: tuple[int, ...], values: tuple[float, float], weights: Tensor | None, biases: Tensor | None
    ) -> None:
        units = prod(event)
        given = torch.ones(units, units) if weights is None else weights
        pairs = given.triu(1).nonzero().T
        super().__init__(event, values, units, pairs)
        self.register_buffer("pairs", pairs, persistent=False)
        dtype = torch.get_default_dtype()
        one, other = pairs
        self.couplings = nn.Parameter(given[one, other].to(dtype))
        self.biases = nn.Parameter(torch.zeros(units, dtype=dtype) if biases is None else biases.to(dtype))
        self._baked: Tensor | None = None
        if weights is None:
            nn.init.normal_(self.couplings, std=SMALL)

    def weights(self) -> Tensor:
        """W, `(d, d)`."""
        if self._baked is not None:
            return self._baked
        one, other = self.pairs
        units = len(self.biases)
        upper = self.couplings.new_zeros(units, units).index_put((one, other), self.couplings)
        return upper + upper.T

    def local_field(self, x: Tensor, sites: Tensor | None = None) -> Tensor:
        if sites is None:
            return F.linear(x, self.weights(), self.biases)
        return F.linear(x, self.weights().index_select(0, sites), self.biases.index_select(0, sites))

    def bias(self) -> Tensor:
        return self.biases

    @contextmanager
    def baked(self) -> Iterator[None]:
        """Compute W once for a whole chain."""
        before = self._baked
        with torch.no_grad():
            self._baked = self.weights()
        try:
            yield
        finally:
            self._baked = before
