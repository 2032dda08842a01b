"""The contract of an objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ebmkit.contracts.component import Component
from ebmkit.contracts.states import Conditioning, Event, Space
from ebmkit.contracts.traits import ObjectiveTraits

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.contracts.context import Context


class Loss(NamedTuple):
    """A scalar to differentiate, and detached scalars to log. Nothing here is brought to the host.

    In a contest (see `contracts/modules/contest.py`) the rival minimises a scalar of its own, all others `value`.
    """

    value: Tensor
    metrics: dict[str, Tensor]
    rival: Tensor | None = None


class Objective(Component, ABC):
    """What training minimises: a mean over the batch.

    An objective that draws model samples names its sampler in `traits()`; the same sampler then serves evaluation
    unless the spec has one of its own.
    """

    component_kind: ClassVar[str] = "objective"
    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin"})
    #: What the model must offer (see `Model`).
    needs: ClassVar[frozenset[str]] = frozenset({"energy"})
    #: What it gives the model beside x; must be what the model expects.
    conditioning: ClassVar[Conditioning] = None
    #: What the noise distributions among its parameters must offer (see `Noise`).
    noise_needs: ClassVar[frozenset[str]] = frozenset({"density"})
    #: Whether it learns from labels, which are then in `context.labels`.
    needs_labels: ClassVar[bool] = False

    def traits(self) -> ObjectiveTraits:
        """What this objective needs. Override it where parameters decide, and to name a sampler or a schedule."""
        return ObjectiveTraits(self.spaces, self.needs, self.conditioning, self.noise_needs, self.needs_labels)

    def extras(self, event: Event, data: Tensor) -> nn.Module | None:
        """Live side parts: log Z, a noise density, a replay buffer. Parameters are trained, everything is saved."""
        return None

    @abstractmethod
    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        """The loss of `batch`. `context` carries the generator, the extras, labels and the chain runner."""
