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
    """Where the chains stand."""

    x: Tensor


@component("gibbs")
class Gibbs(Sampler):
    """Draw units anew from their law given all others, which makes `exp(-E/T)` stationary without ever refusing.

        x_i' = the higher value with probability sigmoid(log_odds_i / T), else the lower one
        log_odds_i = E(x with x_i low) - E(x with x_i high)

    A step is a sweep: as many draws as there are units. In `fixed` order, and by `block`, that keeps the law of the
    chain, but a path and its reverse are not equally likely; with units at `random` they are. Units of a block do not
    act on each other, so that they are drawn at once: the two colours of a checkerboard on a lattice.

    Parameters:
        steps: how many sweeps a chain makes.
        scan: `block` for one set of independent units behind the other, `fixed` for one unit behind the other,
            `random` for as many units as there are, each chosen at random, the same in all chains.
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
        return super().traits()._replace(temperature=self.temperature)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> GibbsState:
        return GibbsState(x)

    def step(self, energy: Energy, state: GibbsState, rng: Generator) -> tuple[GibbsState, StepInfo]:
        height = energy(state.x)
        model, (low, high) = energy.ask(Conditionals), energy.unit_values
        x = state.x.clone(memory_format=torch.contiguous_format)
        units = x.view(len(x), -1)  # of the same memory as x
        for sites in self._sweep(model, units, rng):
            p = torch.sigmoid(model.log_odds(x, sites) / self.temperature)
            is_high = torch.empty_like(p).uniform_(generator=rng) < p
            units.index_copy_(1, sites, low + (high - low) * is_high.to(x.dtype))
        return GibbsState(x), StepInfo(energy=height)

    def _sweep(self, model: Conditionals, units: Tensor, rng: Generator) -> Iterable[Tensor]:
        """The sets of units that are drawn one behind the other."""
        count, device = units.shape[1], units.device
        if self.scan == "block":
            return model.blocks()
        if self.scan == "fixed":
            return torch.split(torch.arange(count, device=device), 1)
        return torch.split(torch.randint(count, (count,), generator=rng, device=device), 1)
