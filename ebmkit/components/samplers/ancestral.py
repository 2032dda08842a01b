"""Ancestral sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

from annotated_types import Ge

from ebmkit.contracts.abilities import Descends
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Space, StepInfo
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class AncestralState(NamedTuple):
    """Visible states, and the joint states of the top from which they were drawn."""

    x: Tensor
    top: Tensor


@component("ancestral")
class Ancestral(Sampler):
    """Ancestral sampling: Gibbs sampling of the top two layers, then every layer below given the one above it.

        (h_{L-1}, h_L)' by a sweep of block Gibbs sampling of the top,    h_{k-1} ~ p(h_{k-1} | h_k),    x ~ p(x | h_1)

    Only the top is a Markov chain. It starts with hidden units that are drawn upwards from the starting points, and is
    as long as it needs to forget them; the draws below it are exact.

    Parameters:
        steps: number of sweeps of the top.

    Reference: Hinton, Osindero and Teh, "A fast learning algorithm for deep belief nets", Neural Computation 18, 2006.

    Example: sampler: {use: ancestral, steps: 200}
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin"})
    needs: ClassVar[frozenset[str]] = frozenset({"ancestral"})
    traces: ClassVar[frozenset[str]] = frozenset()

    steps: Annotated[int, Ge(1)] = 500

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(evaluations=2)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> AncestralState:
        return AncestralState(x, energy.ask(Descends).draw_top(x, rng))

    def step(self, energy: Energy, state: AncestralState, rng: Generator) -> tuple[AncestralState, StepInfo]:
        model = energy.ask(Descends)
        top = model.sweep_top(state.top, rng)
        return AncestralState(model.descend(top, rng), top), StepInfo()
