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
    """What a chain remembers between two steps: a NamedTuple that has at least the positions `x`."""

    @property
    def x(self) -> Tensor: ...


class StepInfo(NamedTuple):
    """What one step saw. Tensors stay on the device; the chain runner averages them over chains for traces."""

    energy: Tensor | None = None  # (B,) at the point where the step began
    gradient: Tensor | None = None  # (B, *event), dE/dx at the same point
    acceptance: Tensor | None = None  # (B,) in [0, 1], the probability with which the proposal was accepted
    divergence: Tensor | None = None  # (B,) in {0, 1}, whether the proposal's energy was not finite or far off


class Sampler(Component, ABC):
    """A Markov chain on states, written as one pure step. The batch is the chains.

    The engine owns the loop: it freezes the network, repeats `step`, keeps traces and the replay buffer. Use `rng` for
    every random number, make tensors with the device and dtype of `x`, and never bring a value to the host.
    """

    component_kind: ClassVar[str] = "sampler"
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})
    #: Abilities that the model must offer (`contracts/abilities.py`).
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})
    #: What it passes to the model in addition to x; must be what the model takes.
    conditioning: ClassVar[Conditioning] = None
    #: What its steps report (see `StepInfo`); metrics that read more are refused before the run.
    traces: ClassVar[frozenset[str]] = frozenset({"energy", "gradient_norm", "acceptance", "divergence"})
    #: Whether a chain goes once from noise to a sample, wherever it starts. Its state then has `level`, the noise level
    #: or time of x, None where x is clean.
    from_noise: ClassVar[bool] = False
    #: How often a step may synchronise with the host; 0 unless the length of a step depends on the data.
    host_syncs: ClassVar[int] = 0

    #: Steps of a chain. Declare it as a parameter unless it is fixed.
    steps: int
    #: The acceptance that a warm-up tunes to. Declare it as a parameter in samplers that can be tuned.
    target_acceptance: float | None = None

    def traits(self) -> SamplerTraits:
        """What this sampler is and needs. Override it where parameters decide."""
        return SamplerTraits(self.spaces, self.needs, self.conditioning, self.traces, self.from_noise, self.host_syncs)

    def inner(self) -> Sampler | None:
        """The sampler inside this one, if it is built around another."""
        return None

    def tunes(self) -> frozenset[str]:
        """The fields of its state that a warm-up may replace: of `step_size` and `mass` (see `chains/warmup.py`)."""
        return frozenset()

    @abstractmethod
    def init(self, energy: Energy, x: Tensor, rng: Generator) -> State:
        """The state of chains at `x (B, *event)`."""

    @abstractmethod
    def step(self, energy: Energy, state: Any, rng: Generator) -> tuple[State, StepInfo]:
        """The chains one step later. `energy(x)` gives `(B,)`, `energy.value_and_grad(x)` also `dE/dx`, and
        `energy.ask(...)` an ability of the model (see `contracts/energy.py`)."""
