"""The contract of a noise schedule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.component import Component

if TYPE_CHECKING:
    from torch import Tensor


class Schedule(Component, ABC):
    """Noise levels, from the largest to the smallest. `parts:` shares one between model, objective and sampler."""

    component_kind: ClassVar[str] = "schedule"

    @abstractmethod
    def levels(self) -> Tensor:
        """The noise levels, shape `(L,)`, falling."""
