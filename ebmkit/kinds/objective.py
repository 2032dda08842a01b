"""The contract of an objective."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from ebmkit.component import Component
from ebmkit.kinds.model import Conditioning, Event, Space

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ebmkit.engine.context import Context


class Loss(NamedTuple):
    """A scalar to differentiate, and detached scalars to log. Nothing here is brought to the host."""

    value: Tensor
    metrics: dict[str, Tensor]


class Objective(Component, ABC):
    """What training minimises: a mean over the batch.

    An objective that draws model samples declares `sampler` and `init` as parameters; the same sampler then serves
    evaluation unless the spec has one of its own.
    """

    component_kind: ClassVar[str] = "objective"
    spaces: ClassVar[frozenset[Space]] = frozenset({"real", "binary", "spin", "categorical"})
    #: What the model must offer (see `Model`).
    needs: ClassVar[frozenset[str]] = frozenset({"energy"})
    #: What it gives the model beside x; must be what the model expects.
    conditioning: ClassVar[Conditioning] = None

    def extras(self, event: Event, data: Tensor) -> nn.Module | None:
        """Live side parts: log Z, a noise density, a replay buffer. Parameters are trained, everything is saved."""
        return None

    @abstractmethod
    def loss(self, model: nn.Module, batch: Tensor, context: Context) -> Loss:
        """The loss of `batch`. `context` carries the generator, the extras and the chain runner."""
