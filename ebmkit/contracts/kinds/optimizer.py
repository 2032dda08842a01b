"""The contract of an optimizer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.built import Builder

if TYPE_CHECKING:
    import torch


class Optimizer(Builder, ABC):
    """A gradient-based optimisation algorithm."""

    component_kind: ClassVar[str] = "optimizer"

    def builds(self) -> type:
        import torch

        return torch.optim.Optimizer

    def state_count(self) -> int | None:
        """The numbers that it keeps for each parameter, such as two moments: an estimate of the memory it needs.

        None if unknown.
        """
        return 2

    @abstractmethod
    def build(self, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
        """A torch optimizer over `parameters`."""
