"""Simulated annealing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from annotated_types import Ge, Gt

from ebmkit.components.samplers.gibbs import Gibbs
from ebmkit.components.samplers.heatable import check_heatable
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, StepInfo
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class AnnealingState(NamedTuple):
    """Positions of the chains, and the number of temperatures that they have had."""

    x: Tensor
    done: int


@component("simulated_annealing")
class SimulatedAnnealing(Sampler):
    """Simulated annealing: a search for the lowest energy by a sampler of exp(-E/T), whose temperature decreases.

        T_k = start (end / start)^(k / (steps - 1)),    k = 0 ... steps - 1

    At each temperature the inner sampler makes its steps. If the temperature decreased slowly enough, as 1 / log k, the
    chain would end in the lowest energy with certainty; the geometric decrease is the usual compromise, and ends in a
    low one. It does not sample exp(-E).

    Parameters:
        steps: number of temperatures.
        sampler: moves the chains, with `steps` steps at each temperature.
        start: the highest temperature, comparable to the height of the barriers.
        end: the lowest one, small against the differences of energies.

    Reference: Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983; Geman and
    Geman, IEEE Trans. Pattern Anal. Mach. Intell. 6, 1984.

    Example: sampler: {use: simulated_annealing, sampler: {use: gibbs, steps: 1}, steps: 200, start: 4, end: 0.1}
    """

    traces: ClassVar[frozenset[str]] = frozenset({"energy"})

    steps: Annotated[int, Ge(1)] = 100
    sampler: Sampler = Gibbs(steps=1)
    start: Annotated[float, Gt(0)] = 4.0
    end: Annotated[float, Gt(0)] = 0.1

    def __post_init__(self) -> None:
        check_heatable(self.sampler, "start")
        if self.end > self.start:
            raise ValueError(f"'end' is {self.end:g}, but temperatures decrease from 'start', which is {self.start:g}")

    def traits(self) -> SamplerTraits:
        inner = self.sampler.traits()
        return inner._replace(
            needs=inner.needs | {"energy"},
            traces=self.traces,
            host_syncs=self.sampler.steps * inner.host_syncs,
            evaluations=self.sampler.steps * inner.evaluations + 3,
            searches=True,
        )

    def inner(self) -> Sampler:
        return self.sampler

    def temperature(self, count: int) -> float:
        """T after this many temperatures; it stays at `end`."""
        share = min(1.0, count / (self.steps - 1)) if self.steps > 1 else 1.0
        return float(self.start * (self.end / self.start) ** share)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> AnnealingState:
        return AnnealingState(x, 0)

    def step(self, energy: Energy, state: AnnealingState, rng: Generator) -> tuple[AnnealingState, StepInfo]:
        height = energy(state.x)
        heated = energy.at(height.new_full((len(state.x),), self.temperature(state.done)))
        inner = self.sampler.init(heated, state.x, rng)  # what it keeps belongs to the temperature before
        for _ in range(self.sampler.steps):
            inner, _ = self.sampler.step(heated, inner, rng)
        return AnnealingState(inner.x, state.done + 1), StepInfo(energy=height)
