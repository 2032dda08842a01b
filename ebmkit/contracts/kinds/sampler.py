"""The contract of a sampler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ebmkit.contracts.component import Component
from ebmkit.contracts.states import Conditioning, Space
from ebmkit.contracts.traits import SamplerTraits

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.contracts.energy import Energy


class State(Protocol):
    """The state of a chain between two steps: a NamedTuple with at least the positions `x`."""

    @property
    def x(self) -> Tensor: ...


class StepInfo(NamedTuple):
    """Information about one step. Tensors stay on the device; the chain runner averages them over chains for traces."""

    energy: Tensor | None = None  # (B,) at the start of the step
    gradient: Tensor | None = None  # (B, *event), dE/dx at the same point
    acceptance: Tensor | None = None  # (B,) in [0, 1], the acceptance probability of the proposal
    divergence: Tensor | None = None  # (B,) in {0, 1}, 1 if the error of the energy was not finite or very large


class Sampler(Component, ABC):
    """A Markov chain, written as one pure step for a batch of chains.

    The engine runs the loop: it freezes the network, repeats `step`, records traces and updates the replay buffer. Use
    `rng` for every random number, create tensors with the device and dtype of `x`, and never synchronise with the host.
    """

    component_kind: ClassVar[str] = "sampler"
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    #: Abilities that the model must offer (`contracts/abilities.py`).
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})
    #: Input of the model in addition to x; must match the model.
    conditioning: ClassVar[Conditioning] = None
    #: Quantities that its steps report (see `StepInfo`); metrics that need others are refused before the run.
    traces: ClassVar[frozenset[str]] = frozenset({"energy", "gradient_norm", "acceptance", "divergence"})
    #: Whether a chain runs once from noise to a sample, regardless of its start. Its state then has `level`, the noise
    #: level or time of x, None if x is clean.
    from_noise: ClassVar[bool] = False
    #: Number of host synchronisations allowed per step; 0 unless the length of a step depends on the data.
    host_syncs: ClassVar[int] = 0

    #: Number of steps of a chain. Declare it as a parameter unless it is fixed.
    steps: int
    #: Target acceptance rate of the warm-up. Declare it as a parameter in samplers that can be tuned.
    target_acceptance: float | None = None

    def traits(self) -> SamplerTraits:
        """Properties and requirements of this sampler. Override it if parameters decide."""
        return SamplerTraits(self.spaces, self.needs, self.conditioning, self.traces, self.from_noise, self.host_syncs)

    def inner(self) -> Sampler | None:
        """The sampler that this one wraps, if any."""
        return None

    def tunes(self) -> frozenset[str]:
        """The fields of its state that a warm-up may replace: `step_size`, `mass` (see `chains/warmup.py`)."""
        return frozenset()

    @abstractmethod
    def init(self, energy: Energy, x: Tensor, rng: Generator) -> State:
        """The initial state of chains at `x (B, *event)`."""

    @abstractmethod
    def step(self, energy: Energy, state: Any, rng: Generator) -> tuple[State, StepInfo]:
        """The state after one step. `energy(x)` gives `(B,)`, `energy.value_and_grad(x)` also `dE/dx`, and
        `energy.ask(...)` an ability of the model (see `contracts/energy.py`)."""
