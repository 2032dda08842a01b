"""States of long chains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: Numbers in a block of draws.
BLOCK = 1 << 19


class Draws(NamedTuple):
    """The states kept by long chains, and statistics of the steps between them.

    In a run folder they are files, which are read when they are used: `x` may be larger than the memory. Work through
    it with `blocks`, or take some states with `evenly`.
    """

    x: Tensor  # (chains, draws, *event)
    #: `energy` of the states, mean `acceptance` and `divergence` of the steps to them, if available; (chains, draws).
    seen: dict[str, Tensor]
    #: Number of energy evaluations of a chain between the first and the last draw.
    evaluations: int
    #: Results of a warm-up: `step_size`, `inverse_mass`, and the sequence `step_sizes (warmup,)`.
    tuning: dict[str, Tensor]

    def __repr__(self) -> str:
        chains, draws, *event = self.x.shape
        known = f"with {', '.join(self.seen)}" if self.seen else "without statistics"
        return f"Draws({chains} chains of {draws:,} draws of {tuple(event)}, {known})"

    @property
    def total(self) -> int:
        """The number of states of all chains."""
        return self.x.shape[0] * self.x.shape[1]

    def blocks(self) -> Iterator[Tensor]:
        """All states in the order of the draws, some draws of all chains at a time: `(chains, some, *event)`."""
        return blocks(self.x)

    def evenly(self, n: int) -> Tensor:
        """`n` states `(n, *event)`, evenly over all chains and chain by chain; all states if there are fewer."""
        draws = self.x.shape[1]
        if n >= self.total:
            return self.x.flatten(0, 1)
        index = torch.arange(n, device=self.x.device) * self.total // n
        return self.x[index // draws, index % draws]

    def to_tensors(self) -> dict[str, Tensor]:
        """The evaluations and the tuning, by the names that `from_tensors` reads."""
        return {
            **{f"tuning.{name}": of for name, of in self.tuning.items()},
            "evaluations": torch.tensor(self.evaluations),
        }

    @classmethod
    def from_tensors(cls, x: Tensor, seen: dict[str, Tensor], by_name: dict[str, Tensor]) -> Draws:
        """The inverse of `to_tensors`, given the states and their statistics."""
        return cls(x, seen, int(by_name["evaluations"]), under("tuning.", by_name))


def blocks(x: Tensor) -> Iterator[Tensor]:
    """Blocks of draws, of `(chains, draws, ...)`."""
    a_draw = max(1, x.numel() // max(1, x.shape[1]))
    return iter(torch.split(x, max(1, BLOCK // a_draw), dim=1))


def under(word: str, by_name: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with a word, which is removed."""
    return {name.removeprefix(word): value for name, value in by_name.items() if name.startswith(word)}
