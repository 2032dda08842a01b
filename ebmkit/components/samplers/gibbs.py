"""Gibbs sampling."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

from annotated_types import Ge, Gt

from ebmkit.contracts.abilities import Blocks, Sweeps
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
    """Gibbs sampling: each unit, or each block of units that do not interact, is drawn given all others.

        x_i' ~ p(x_i | all other units),    p = exp(-E/T) / Z

    `exp(-E/T)` is stationary, and nothing is rejected. A step is a sweep: as many draws as there are units. The chain
    is reversible with a `random` scan, but not with `fixed` or `block`. The units of a block are drawn at once: on a
    lattice the blocks are the two colours of a checkerboard, in a restricted Boltzmann machine its two layers. Chains
    of a model with hidden units move visible and hidden units together, E is the energy of both, and samples are the
    visible ones.

    Parameters:
        steps: number of sweeps of a chain.
        scan: `block` for blocks of independent units in turn, `fixed` for one unit after another, `random` for as many
            units as there are, each chosen at random, the same in all chains.
        temperature: T.

    Reference: Geman and Geman, "Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of images",
    IEEE Trans. Pattern Anal. Mach. Intell. 6, 1984.

    Example: sampler: {use: gibbs, steps: 200, scan: random}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "blocks"})
    traces: ClassVar[frozenset[str]] = frozenset({"energy"})

    steps: Annotated[int, Ge(1)] = 100
    scan: Literal["block", "fixed", "random"] = "block"
    temperature: Annotated[float, Gt(0)] = 1.0

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(temperature=self.temperature, evaluations=2, by_unit=True, joint=True)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> GibbsState:
        return GibbsState(x)

    def step(self, energy: Energy, state: GibbsState, rng: Generator) -> tuple[GibbsState, StepInfo]:
        if self.scan == "block" and (sweeping := _sweeps(energy)):
            swept, height = sweeping.sweep(state.x.flatten(1), self.temperature, rng)
            energy.evaluations += 1
            return GibbsState(swept.view(state.x.shape)), StepInfo(energy=height)
        height = energy(state.x)
        model = energy.ask(Blocks)
        x = state.x.clone(memory_format=torch.contiguous_format)
        units = x.view(len(x), -1)  # shares the memory of x
        for sites in self._sweep(model, units, rng):
            units.index_copy_(1, sites, model.draw_units(units, sites, self.temperature, rng))
        return GibbsState(x), StepInfo(energy=height)

    def _sweep(self, model: Blocks, units: Tensor, rng: Generator) -> Iterable[Tensor]:
        """The sets of units, in the order in which they are drawn."""
        count, device = units.shape[1], units.device
        if self.scan == "block":
            return model.blocks()
        if self.scan == "fixed":
            return torch.split(torch.arange(count, device=device), 1)
        return torch.split(torch.randint(count, (count,), generator=rng, device=device), 1)


def _sweeps(energy: Energy) -> Sweeps | None:
    """Sweeps in the layout of the model, if it offers them."""
    try:
        return energy.ask(Sweeps)
    except TypeError:
        return None
