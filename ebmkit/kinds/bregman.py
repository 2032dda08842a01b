"""The contract of a Bregman generator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.component import Component
from ebmkit.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


class Bregman(Component, ABC):
    """A strictly convex psi on the density ratio `u = p_model / p_noise`, which defines a family of ratio matching.

    `psi` is all that an author writes. The two functions that the loss needs are derived from it,

        S0(u) = u psi'(u) - psi(u),    S1(u) = psi'(u),

    in terms of `log u`, because ratios live in log space. Give closed forms of `s0` and `s1` where `exp(log u)` would
    overflow.
    """

    component_kind: ClassVar[str] = "bregman"

    @abstractmethod
    def psi(self, u: Tensor) -> Tensor:
        """The generator, elementwise, for u > 0."""

    def s0(self, log_u: Tensor) -> Tensor:
        """The penalty on noise samples."""
        u = log_u.exp()
        return u * self._slope(u) - self.psi(u)

    def s1(self, log_u: Tensor) -> Tensor:
        """The reward on data samples."""
        return self._slope(log_u.exp())

    def _slope(self, u: Tensor) -> Tensor:
        with torch.enable_grad():
            point = u if u.requires_grad else u.detach().requires_grad_()
            (slope,) = torch.autograd.grad(self.psi(point).sum(), point, create_graph=u.requires_grad)
        return slope
