"""The Hopfield network, as a module."""

from __future__ import annotations

from math import prod

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812, the usual name

from ebmkit.components.models.nets.pairwise import Pairwise
from ebmkit.contracts.modules.live import LiveModule
from ebmkit.contracts.setting import Setting


class HopfieldEnergy(Pairwise, LiveModule):
    """`E(x) = -1/2 x'Wx - b'x` with weights that store patterns. Without patterns it stores the training data."""

    patterns: Tensor
    weights: Tensor
    biases: Tensor

    def __init__(
        self, event: tuple[int, ...], values: tuple[float, float], patterns: Tensor | None, storage: str
    ) -> None:
        units = prod(event)
        super().__init__(event, values, units, None)
        self.storage = storage
        self._given = patterns is not None
        dtype = torch.get_default_dtype()
        self.register_buffer("patterns", torch.zeros(0, *event, dtype=dtype))
        self.register_buffer("weights", torch.zeros(units, units, dtype=dtype))
        self.register_buffer("biases", torch.zeros(units, dtype=dtype))
        if patterns is not None:
            self.store(patterns)

    def prepare(self, setting: Setting) -> None:
        """Store the training data, unless patterns were given."""
        if self._given:
            return
        if setting.data is None:
            raise ValueError("it stores the training data, but there are none")
        if not bool(torch.isin(setting.data, setting.data.new_tensor(self.unit_values)).all()):
            raise ValueError(f"it stores the training data, but some are not {' or '.join(map(str, self.unit_values))}")
        self.store(setting.data)

    def store(self, patterns: Tensor) -> None:
        """Store patterns `(P, *event)`, in double precision on the CPU."""
        low, high = self.unit_values
        s = (2 * patterns.detach().to("cpu", torch.float64).flatten(1) - low - high) / (high - low)
        projection = self.storage == "pseudo_inverse"
        if projection and int(torch.linalg.matrix_rank(s)) == s.shape[1]:
            raise ValueError(
                f"the {len(s)} patterns span all states of {s.shape[1]} units, so that 'pseudo_inverse' stores "
                "nothing: store fewer"
            )
        w = torch.linalg.pinv(s) @ s if projection else s.T @ s / s.shape[1]
        w = ((w + w.T) / 2).fill_diagonal_(0)
        # In x, s = slope x + shift has the weights slope^2 W and the biases slope shift W 1, up to a constant.
        slope, shift = 2 / (high - low), -(high + low) / (high - low)
        self.patterns = patterns.detach().to(self.patterns)
        self.weights = (slope**2 * w).to(self.weights)
        self.biases = (slope * shift * w.sum(1)).to(self.biases)

    def local_field(self, x: Tensor, sites: Tensor | None = None) -> Tensor:
        if sites is None:
            return F.linear(x, self.weights, self.biases)
        return F.linear(x, self.weights.index_select(0, sites), self.biases.index_select(0, sites))

    def bias(self) -> Tensor:
        return self.biases
