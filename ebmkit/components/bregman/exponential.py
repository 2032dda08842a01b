"""The exponential generator."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor

#: `exp(-BEYOND)` and its product with any smaller ratio are zero in every precision.
BEYOND = 1000.0


@component("exponential")
class Exponential(Bregman):
    """Exponential generator: psi is an exponential of the ratio itself, not of its logarithm.

        psi(u) = exp(rate u)
        S0(u) = (rate u - 1) exp(rate u),    S1(u) = rate exp(rate u)

    With a negative rate large ratios have no weight, and their gradient vanishes. A positive rate overflows float32
    if rate u exceeds 88, for rate 1 as soon as a single log u exceeds 4.5, and the run stops.

    Parameters:
        rate: any number except 0.

    Reference: Gutmann and Hirayama, arXiv:1202.3727; Xu, thesis, Tsinghua 2022, section 4.2.

    Example: generator: {use: exponential, rate: -0.5}
    """

    rate: float = -1.0

    def __post_init__(self) -> None:
        if self.rate == 0:
            raise ValueError("'rate' is 0, but a constant is not strictly convex: give another rate")

    def psi(self, u: Tensor) -> Tensor:
        return torch.exp(self.rate * u)

    def s0(self, log_u: Tensor) -> Tensor:
        log_u = self._seen(log_u)
        exponent = self.rate * log_u.exp()
        return self.rate * (log_u + exponent).exp() - exponent.exp()

    def s1(self, log_u: Tensor) -> Tensor:
        return self.rate * (self.rate * self._seen(log_u).exp()).exp()

    def _seen(self, log_u: Tensor) -> Tensor:
        """The log ratio; with a negative rate clamped to where S0, S1 and their slopes underflow to zero.

        Beyond it autograd would multiply that zero by an infinite u.
        """
        return log_u.clamp(max=log(BEYOND / -self.rate)) if self.rate < 0 else log_u
