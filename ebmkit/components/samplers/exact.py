"""Exact sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ebmkit.contracts.abilities import SampleExact
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Space, StepInfo

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class ExactState(NamedTuple):
    """The draws."""

    x: Tensor


@component("exact")
class Exact(Sampler):
    """Exact sampling: independent draws from a model with a direct sampling method.

        x' ~ exp(-E) / Z

    Reference: Devroye, "Non-uniform random variate generation", 1986.

    Example: sampler: exact
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"sample_exact"})
    traces: ClassVar[frozenset[str]] = frozenset()
    steps: ClassVar[int] = 1  # type: ignore[misc]  # a parameter of most samplers, fixed here

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> ExactState:
        return ExactState(x)

    def step(self, energy: Energy, state: ExactState, rng: Generator) -> tuple[ExactState, StepInfo]:
        return ExactState(energy.ask(SampleExact).sample_exact(len(state.x), rng)), StepInfo()
