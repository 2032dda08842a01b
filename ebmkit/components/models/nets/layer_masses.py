"""The masses of all states of a layer, whose other units are summed out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ebmkit.maths import enumeration

#: Numbers in a block of enumerated states and what they are multiplied by.
BLOCK = 1 << 22


class LayerMasses:
    """`log_mass(h)` of all states h of a layer, computed in blocks of states."""

    def __init__(
        self, log_mass: Callable[[Tensor], Tensor], units: int, values: tuple[float, float], width: int, like: Tensor
    ) -> None:
        """`width` is the number of units of all layers; states have the device and dtype of `like`."""
        self._log_mass, self._units, self._values, self._like = log_mass, units, values, like
        self._rows = max(1, BLOCK // width)

    def table(self) -> Tensor:
        """Of every state by its number, `(2^H,)`."""
        return torch.cat([self._of(numbers) for numbers in self._blocks()])

    def log_sum(self) -> Tensor:
        """The logarithm of the sum of all masses, differentiable. Of a block only its sum is kept."""
        if torch.is_grad_enabled() and self._rows < 2**self._units:
            return torch.stack([checkpoint(self._sum, some, use_reentrant=False) for some in self._blocks()]).logsumexp(
                0
            )
        return torch.stack([self._sum(numbers) for numbers in self._blocks()]).logsumexp(0)

    def _blocks(self) -> Iterator[Tensor]:
        for first in range(0, 2**self._units, self._rows):
            yield torch.arange(first, min(first + self._rows, 2**self._units), device=self._like.device)

    def _of(self, numbers: Tensor) -> Tensor:
        return self._log_mass(enumeration.states(numbers, (self._units,), self._values, self._like.dtype))

    def _sum(self, numbers: Tensor) -> Tensor:
        return self._of(numbers).logsumexp(0)
