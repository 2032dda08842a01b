"""The contract of an optimizer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.component import Component

if TYPE_CHECKING:
    import torch


class Optimizer(Component, ABC):
    """A gradient-based optimisation algorithm."""

    component_kind: ClassVar[str] = "optimizer"

    @abstractmethod
    def build(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """A torch optimizer over `parameters`."""
