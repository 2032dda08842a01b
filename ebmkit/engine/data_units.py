"""What a run shows in the units of the data, although its network works in the space of `scale`."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn

from ebmkit.chains.draws import Sink
from ebmkit.contracts.abilities import Logits, LogZ, Scores
from ebmkit.contracts.kinds import Schedule
from ebmkit.maths.units import Units


class InDataUnits(nn.Module):
    """`E(x) = E(z(x)) + log |dx/dz|` for a network that works in the space of `scale`; its log normaliser is the same.

    A network that returns scores returns those of x. Noise levels are those of that space.
    """

    _like: Tensor

    def __init__(self, network: nn.Module, units: Units) -> None:
        super().__init__()
        self.network = network
        self.units = units
        weight = next((tensor for tensor in (*network.parameters(), *network.buffers())), torch.zeros(()))
        # Follows the module to other devices and precisions, and says which the network takes.
        self.register_buffer("_like", weight.new_zeros(()), persistent=False)

    def forward(self, x: Tensor, *conditions: Any) -> Tensor:
        found: Tensor = self.network(self._into(x), *conditions)
        return found + self.units.log_volume if found.dim() == 1 else self.units.gradient(found)

    def log_z(self) -> Tensor:
        """That of the network: what the volume adds to energies it takes from the integral."""
        return cast("LogZ", self.network).log_z()

    def logits(self, x: Tensor) -> Tensor:
        """Of a classifier: `(B, K)`."""
        return cast("Logits", self.network).logits(self._into(x))

    def score(self, x: Tensor, level: Any, labels: Tensor | None = None) -> Tensor:
        """Of a network that is conditioned on noise: `d log p_level(x) / dx`."""
        return self.units.gradient(cast("Scores", self.network).score(self._into(x), level, labels))

    @property
    def schedule(self) -> Schedule:
        """The noise schedule of the network."""
        return cast("Scores", self.network).schedule

    def _into(self, x: Tensor) -> Tensor:
        return self.units.into(x, self._like.dtype).to(self._like.device)


class DataUnitsSink:
    """Passes on the draws of long chains in the units of the data."""

    def __init__(self, sink: Sink, units: Units) -> None:
        self.sink, self.units = sink, units
        self._log_volume = units.log_volume

    def add(self, name: str, row: Tensor) -> None:
        """One more row of the column `name`."""
        if name == "x":
            row = self.units.out_of(row)
        elif name == "energy":
            row = row + self._log_volume
        self.sink.add(name, row)

    def rows(self, name: str) -> int:
        """The number of rows of a column."""
        return self.sink.rows(name)

    def column(self, name: str) -> Tensor:
        """All rows, chains first."""
        return self.sink.column(name)
