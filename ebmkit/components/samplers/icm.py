"""Iterated conditional modes: the search for a local minimum of the energy of discrete states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from annotated_types import Ge

from ebmkit.contracts.abilities import Blocks, Conditionals
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Space, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class ICMState(NamedTuple):
    """Positions of the chains."""

    x: Tensor


@component("icm")
class ICM(Sampler):
    """Iterated conditional modes (recall of a Hopfield network): each unit takes its more probable value given all
    others.

        x_i' = the higher value if log_odds_i > 0, the lower one if log_odds_i < 0, else x_i
        log_odds_i = E(x with x_i low) - E(x with x_i high)
        x_i' = argmin_k E(x with x_i = k) for categories, x_i if it is one of several

    It is Gibbs sampling in the limit of temperature zero, and does not sample exp(-E). One unit after another, the
    energy never increases, and the chain ends in a local minimum. With `synchronous` all units change at once; the
    energy may then increase, and on symmetric weights the chain ends in a fixed point or in a cycle of two states. A
    step is a sweep over all units.

    Parameters:
        steps: number of sweeps.
        scan: `block` for blocks of independent units in turn, which changes one after the other the units that
            interact; `random` for all units, one after the other in a random order, the same in all chains;
            `synchronous` for all units at once.

    Reference: Besag, "On the statistical analysis of dirty pictures", J. R. Stat. Soc. B 48, 1986; Hopfield, PNAS 79,
    1982 (asynchronous recall); Little, Math. Biosci. 19, 1974 (synchronous).

    Example: sampler: {use: icm, steps: 20, scan: random}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "conditionals"})
    traces: ClassVar[frozenset[str]] = frozenset({"energy"})

    steps: Annotated[int, Ge(1)] = 20
    scan: Literal["block", "random", "synchronous"] = "block"

    def traits(self) -> SamplerTraits:
        needs = self.needs | {"blocks"} if self.scan == "block" else self.needs
        return super().traits()._replace(needs=needs, evaluations=2, by_unit=True, searches=True)

    def refusal(self, question: Question) -> str | None:
        if self.scan == "block" and "hidden" in question.model.traits().offers:
            return "changes visible units, but the blocks of this model have hidden ones: use 'scan: random'"
        return None

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> ICMState:
        return ICMState(x)

    def step(self, energy: Energy, state: ICMState, rng: Generator) -> tuple[ICMState, StepInfo]:
        height = energy(state.x)
        model, values = energy.ask(Conditionals), energy.unit_values
        x = state.x.clone(memory_format=torch.contiguous_format)
        units = x.view(len(x), -1)  # shares the memory of x
        for sites in self._sweep(energy, units, rng):
            odds = model.log_odds(x, sites)
            present = units.index_select(1, sites)
            mode = _higher_or_lower(odds, present, values) if odds.dim() == 2 else _category(odds, present)
            units.index_copy_(1, sites, mode.to(x.dtype))
        return ICMState(x), StepInfo(energy=height)

    def _sweep(self, energy: Energy, units: Tensor, rng: Generator) -> Iterable[Tensor]:
        """The sets of units, in the order in which they are changed."""
        count, device = units.shape[1], units.device
        if self.scan == "block":
            return energy.ask(Blocks).blocks()
        if self.scan == "synchronous":
            return [torch.arange(count, device=device)]
        return torch.split(torch.randperm(count, generator=rng, device=device), 1)


def _higher_or_lower(odds: Tensor, present: Tensor, values: tuple[float, ...]) -> Tensor:
    """The more probable value of units with two; the present one if both are as probable."""
    low, high = values
    mode = torch.where(odds > 0, high, torch.where(odds < 0, low, present))
    return torch.where(odds.isnan(), odds, mode)  # comparisons would hide it


def _category(odds: Tensor, present: Tensor) -> Tensor:
    """The most probable category of units; the present one if it is among several."""
    most = odds.amax(2)  # NaN if one is
    at_present = odds.gather(2, present.long().unsqueeze(2)).squeeze(2)
    mode = torch.where(at_present == most, present, odds.argmax(2).to(present.dtype))
    return torch.where(most.isnan(), most, mode)
