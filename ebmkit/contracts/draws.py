"""What long chains kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


class Draws(NamedTuple):
    """The states that long chains kept, and what is known of the steps to them."""

    x: Tensor  # (chains, draws, *event)
    #: `energy` of the states, mean `acceptance` and `divergence` of the steps to them, where known; (chains, draws).
    seen: dict[str, Tensor]
    #: The number of evaluations of the energy of a chain between the first draw and the last.
    evaluations: int
    #: What a warm-up found: `step_size`, `inverse_mass`, and on its way `step_sizes (warmup,)`.
    tuning: dict[str, Tensor]

    def to_tensors(self) -> dict[str, Tensor]:
        """All but the states, by names that `from_tensors` understands."""
        by_name = {f"seen.{name}": values for name, values in self.seen.items()}
        by_name |= {f"tuning.{name}": values for name, values in self.tuning.items()}
        return {**by_name, "evaluations": torch.tensor(self.evaluations)}

    @classmethod
    def from_tensors(cls, x: Tensor, chains: int, by_name: dict[str, Tensor]) -> Draws:
        """What was written: the states of `chains` chains, one chain after the other, and the rest."""

        def under(word: str) -> dict[str, Tensor]:
            return {name.removeprefix(word): value for name, value in by_name.items() if name.startswith(word)}

        return cls(x.view(chains, -1, *x.shape[1:]), under("seen."), int(by_name["evaluations"]), under("tuning."))
