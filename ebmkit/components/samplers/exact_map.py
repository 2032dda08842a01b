"""The exact MAP state."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ebmkit.contracts.abilities import GroundState
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Sampler, Space, StepInfo
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class MapState(NamedTuple):
    """The state, for each chain."""

    x: Tensor


@component("exact_map")
class ExactMap(Sampler):
    """Exact MAP: the state of the lowest energy, which is the most probable one; the same in all chains.

        x' = argmin_x E(x)

    By maximum flow in `grid_mrf`, by enumeration in other discrete models of up to 65,536 states. It does not sample
    exp(-E).

    Reference: Greig, Porteous and Seheult, "Exact maximum a posteriori estimation for binary images", J. R. Stat. Soc.
    B 51, 1989.

    Example: sampler: exact_map
    """

    spaces: ClassVar[frozenset[Space]] = frozenset({"binary", "spin", "categorical"})
    needs: ClassVar[frozenset[str]] = frozenset({"ground_state"})
    traces: ClassVar[frozenset[str]] = frozenset()
    #: Maximum flow runs on the host.
    host_syncs: ClassVar[int] = 8
    steps: ClassVar[int] = 1  # type: ignore[misc]  # a parameter of most samplers, fixed here

    def traits(self) -> SamplerTraits:
        return super().traits()._replace(searches=True)

    def init(self, energy: Energy, x: Tensor, rng: Generator) -> MapState:
        return MapState(x)

    def step(self, energy: Energy, state: MapState, rng: Generator) -> tuple[MapState, StepInfo]:
        found = energy.ask(GroundState).ground_state().to(state.x)
        return MapState(found.expand_as(state.x).clone()), StepInfo()
