"""Gibbs sampling of discrete states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from annotated_types import Ge, Gt

from ebmkit.contracts.abilities import Conditionals
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Space, StepInfo
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class GibbsState(NamedTuple):
    """Positions of the chains."""

    x: Tensor


@component("gibbs")
class Gibbs(Sampler):
    """Gibbs sampling of discrete states: each unit is drawn from its distribution given all others.

        x_i' = the higher value with probability sigmoid(log_odds_i / T), else the lower one
        log_odds_i = E(x with x_i low) - E(x with x_i high)

    `exp(-E/T)` is stationary, and nothing is rejected. A step is a sweep: as many draws as there are units. The chain
    is reversible with a `random` scan, but not with `fixed` or `block`. The units of a block do not interact, so they
    are drawn at once; on a lattice the blocks are the two colours of a checkerboard.

    Parameters:
        steps: number of sweeps of a chain.
        scan: `block` for blocks of independent units in turn, `fixed` for one unit after another, `random` for as many
            units as there are, each chosen at random, the same in all chains.
        temperature: T.

    Reference: Geman and Geman, "Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images",
    IEEE Trans. Pattern Anal. Mach. Intell. 6, 1984.

    Example: sampler: {use: gibbs, steps: 200, scan: random}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "conditionals"})
    traces: ClassVar[frozenset[str]] = frozenset({"energy"})

    steps: Annotated[int, Ge(1)] = 100
    scan: Literal["block", "fixed", "random"] = "block"
    temperature: Annotated[float, Gt(0)] = 1.0

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(temperature=self.temperature, evaluations=2, by_unit=True)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> GibbsState:
        return GibbsState(x)

    def step(self, energy: Energy, state: GibbsState, rng: Generator) -> tuple[GibbsState, StepInfo]:
        height = energy(state.x)
        model, (low, high) = energy.ask(Conditionals), energy.unit_values
        x = state.x.clone(memory_format=torch.contiguous_format)
        units = x.view(len(x), -1)  # shares the memory of x
        for sites in self._sweep(model, units, rng):
            p = torch.sigmoid(model.log_odds(x, sites) / self.temperature)
            is_high = (torch.empty_like(p).uniform_(generator=rng) < p).to(x.dtype)
            is_high = torch.where(p.isnan(), p.to(x.dtype), is_high)  # a comparison would hide it
            units.index_copy_(1, sites, low + (high - low) * is_high)
        return GibbsState(x), StepInfo(energy=height)

    def _sweep(self, model: Conditionals, units: Tensor, rng: Generator) -> Iterable[Tensor]:
        """The sets of units, in the order in which they are drawn."""
        count, device = units.shape[1], units.device
        if self.scan == "block":
            return model.blocks()
        if self.scan == "fixed":
            return torch.split(torch.arange(count, device=device), 1)
        return torch.split(torch.randint(count, (count,), generator=rng, device=device), 1)
