"""The contract of a noise distribution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.component import Component
from ebmkit.kinds.model import Event, Space

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.nets.density import Density


class Noise(Component, ABC):
    """A density that can be evaluated and sampled, to contrast data with."""

    component_kind: ClassVar[str] = "noise"
    spaces: ClassVar[frozenset[Space]] = frozenset({"real"})

    def event(self) -> Event | None:
        """The shape that the parameters fix, or None for noise that takes the shape of the data."""
        return None

    @abstractmethod
    def build(self, event: Event, data: Tensor) -> Density:
        """A module with `log_prob(x) -> (B,)` and `sample(n, rng) -> (n, *event)`, fitted to `data` if it is to be."""
