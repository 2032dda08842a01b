"""The contract of a sampler."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds.model import Conditioning, Event, Space

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from ebmkit.chains.energy import Energy


class State(Protocol):
    """What a chain remembers between two steps: a NamedTuple that has at least the positions `x`."""

    @property
    def x(self) -> Tensor: ...


class StepInfo(NamedTuple):
    """What one step saw. Tensors stay on the device; the chain runner reduces them when somebody asked for traces."""

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
    #: What the model must offer (see `Model`).
    needs: ClassVar[frozenset[str]] = frozenset({"energy", "gradient"})
    #: What it gives the model beside x; must be what the model expects.
    conditioning: ClassVar[Conditioning] = None
    #: What its steps report, as `StepInfo` does. Narrow it, and metrics that read more are refused before the run.
    traces: ClassVar[frozenset[str]] = frozenset({"energy", "gradient_norm", "acceptance", "divergence"})
    #: Whether a chain goes once from noise to a sample, so that it has an end, and no states to keep on the way. Where
    #: it begins does not matter then, and its state has `level`, the noise level or time of x, None where x is clean.
    from_noise: ClassVar[bool] = False
    #: How often a step may make the host wait for the device. Only an algorithm that cannot know its length may.
    host_syncs: ClassVar[int] = 0

    #: How often a call of the sampler steps. Declare it as a parameter unless it is fixed.
    steps: int

    #: The acceptance that a warm-up tunes to. Declare it as a parameter in samplers that can be tuned.
    target_acceptance: float | None = None

    def inner(self) -> Sampler | None:
        """The sampler that this one is built around, which says what it needs; its acceptance is of exchanges then."""
        return None

    def tunes(self) -> frozenset[str]:
        """Of `step_size` and `mass`, which fields of its state a warm-up may replace (see `chains/warmup.py`)."""
        return frozenset()

    def refusal(self, event: Event) -> str | None:
        """Why the sampler cannot move states of this shape, in words that follow its name; None if it can."""
        return None

    @abstractmethod
    def init(self, energy: Energy, x: Tensor, rng: Generator) -> State:
        """The state of chains that stand at `x`."""

    @abstractmethod
    def step(self, energy: Energy, state: Any, rng: Generator) -> tuple[State, StepInfo]:
        """The chains one step later. `energy(x)` gives `(B,)`; `energy.value_and_grad(x)` gives both at one price; and
        `energy.score(x, level)` the score of a network with a noise level."""
