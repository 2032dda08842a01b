"""States of long chains."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


class Draws(NamedTuple):
    """The states kept by long chains, and statistics of the steps between them."""

    x: Tensor  # (chains, draws, *event)
    #: `energy` of the states, mean `acceptance` and `divergence` of the steps to them, if available; (chains, draws).
    seen: dict[str, Tensor]
    #: Number of energy evaluations of a chain between the first and the last draw.
    evaluations: int
    #: Results of a warm-up: `step_size`, `inverse_mass`, and the sequence `step_sizes (warmup,)`.
    tuning: dict[str, Tensor]

    def to_tensors(self) -> dict[str, Tensor]:
        """Everything except the states, by the names that `from_tensors` reads."""
        by_name = {f"seen.{name}": values for name, values in self.seen.items()}
        by_name |= {f"tuning.{name}": values for name, values in self.tuning.items()}
        return {**by_name, "evaluations": torch.tensor(self.evaluations)}

    @classmethod
    def from_tensors(cls, x: Tensor, chains: int, by_name: dict[str, Tensor]) -> Draws:
        """The inverse of `to_tensors`, given the states of `chains` chains, one chain after the other."""

        def under(word: str) -> dict[str, Tensor]:
            return {name.removeprefix(word): value for name, value in by_name.items() if name.startswith(word)}

        return cls(x.view(chains, -1, *x.shape[1:]), under("seen."), int(by_name["evaluations"]), under("tuning."))
