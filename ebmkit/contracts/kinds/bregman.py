"""The contract of a Bregman generator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.component import Component
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.contracts.setting import Setting


class Bregman(Component, ABC):
    """A strictly convex psi of the density ratio `u = p_model / p_noise`, which defines a ratio-matching loss.

    An author has to write only `psi`. The two functions of the loss are derived from it,

        S0(u) = u psi'(u) - psi(u),    S1(u) = psi'(u),

    in terms of `log u`, for numerical stability, and computed in float64, since S0 is a difference of terms that may be
    far larger than it. Override `s0` and `s1` with closed forms where `exp(log u)` would overflow, or if a law says
    that S0 loses its digits even in float64.
    """

    component_kind: ClassVar[str] = "bregman"

    @abstractmethod
    def psi(self, u: Tensor) -> Tensor:
        """The generator, elementwise, for u > 0."""

    def s0(self, log_u: Tensor) -> Tensor:
        """The loss term of noise samples."""
        u = _precise(log_u).exp()
        return (u * self._slope(u) - self.psi(u)).to(log_u.dtype)

    def s1(self, log_u: Tensor) -> Tensor:
        """The loss term of data samples, with a minus sign."""
        return self._slope(_precise(log_u).exp()).to(log_u.dtype)

    def prepare(self, setting: Setting) -> None:
        """Raise a ValueError unless psi is elementwise and convex."""
        u = torch.linspace(-4, 4, 33, dtype=torch.float64).exp().requires_grad_()
        psi = self.psi(u)
        if psi.shape != u.shape:
            raise ValueError(f"psi of {len(u)} numbers has shape {tuple(psi.shape)}: psi must be elementwise")
        if not psi.requires_grad:
            raise ValueError("psi cannot be differentiated: compute it from u by torch operations")
        (slope,) = torch.autograd.grad(psi.sum(), u, create_graph=True)
        (curvature,) = torch.autograd.grad((slope + 0 * u).sum(), u)
        rounding = 1e-13 * slope.abs() / u  # psi'' may be a difference of terms of this size
        for at, second, off in zip(u.tolist(), curvature.tolist(), rounding.tolist(), strict=True):
            if not second >= -off or (at == 1 and second <= off):  # far from 1 it may underflow to zero
                raise ValueError(f"psi is not strictly convex: its second derivative at {at:.3g} is {second:.3g}")

    def _slope(self, u: Tensor) -> Tensor:
        with torch.enable_grad():
            point = u if u.requires_grad else u.detach().requires_grad_()
            (slope,) = torch.autograd.grad(self.psi(point).sum(), point, create_graph=u.requires_grad)
        return slope


def _precise(log_u: Tensor) -> Tensor:
    """In float64, except on Apple's GPUs, which do not have it."""
    return log_u if log_u.device.type == "mps" else log_u.double()
