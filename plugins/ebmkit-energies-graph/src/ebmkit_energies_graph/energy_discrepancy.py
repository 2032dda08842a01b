"""Energy discrepancy of discrete states."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Annotated, ClassVar

from ebmkit.api import Ge, Gt, Le, Loss, Objective, ObjectiveTraits, Space, component, torch

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

    from ebmkit.api import Context


@component("energy_discrepancy")
class EnergyDiscrepancy(Objective):
    """Energy discrepancy: energies of data against those of states that were blurred and guessed back, without chains.

        L = E log(1/M + 1/M sum_{j=1}^M exp(E(x) - E(x_j))),    x -> y -> x_j

    y is x with every unit flipped with probability `flip`, and each x_j is y with every unit flipped again. For large M
    this is the discrepancy of the energy and its blurred version. With the term 1/M, which bounds the variance, its
    minimum is at the truth for every M: x and the x_j are candidates for the point that was blurred to y, a flip back
    is as likely as a flip, and L + log M is the loss of ranking the right one first.

    Parameters:
        flip: probability that a unit changes its value; one half tells nothing of x, a small value compares with
            neighbours only.
        candidates: M.

    Reference: Schroeder, Ou, Lim, Li, Vollmer and Duncan, "Energy discrepancies: a score-independent loss for
    energy-based models", arXiv:2307.06431; of discrete states Schroeder, Ou, Li and Duncan, arXiv:2412.01019.

    Example: objective: {use: graph.energy_discrepancy, flip: 0.1, candidates: 16}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin"})
    consistent: ClassVar[bool] = True

    flip: Annotated[float, Gt(0), Le(0.5)] = 0.1
    candidates: Annotated[int, Ge(1)] = 16

    def traits(self) -> ObjectiveTraits:
        blind = log((1 + self.candidates) / self.candidates)
        return super().traits()._replace(evaluations=1.5 * (1 + self.candidates), blind_loss=blind)

    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        both = sum(model.unit_values)  # type: ignore[arg-type]  # so that `both - x` is the other value
        blurred = self._flipped(batch, both, context.rng)
        guesses = self._flipped(blurred.repeat_interleave(self.candidates, 0), both, context.rng)
        of_data, of_guesses = model(torch.cat([batch, guesses])).split([len(batch), len(guesses)])
        gaps = of_data.unsqueeze(1) - of_guesses.view(len(batch), self.candidates)  # (B, M)
        value = torch.nn.functional.pad(gaps, (1, 0)).logsumexp(1).mean() - log(self.candidates)
        return Loss(value, {"energy_gap": -gaps.detach().mean()})

    def _flipped(self, x: Tensor, both: float, rng: Generator) -> Tensor:
        flips = torch.empty_like(x).uniform_(generator=rng) < self.flip
        return torch.where(flips, both - x, x)
