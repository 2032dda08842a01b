"""The generator of noise-contrastive estimation."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Bregman
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


@component("logistic")
class Logistic(Bregman):
    """Logistic generator: Bregman ratio matching becomes noise-contrastive estimation.

        psi(u) = u log u - (r + u) log(r + u) + r log r
        S0(u) = r log(1 + u/r),    S1(u) = -log(1 + r/u)

    The constant r log r has no gradient; it makes psi(0) = 0, so that the loss equals that of `nce` to the last digit.

    Parameters:
        noise_ratio: r, weight of the noise relative to the data; `nce` with the same `noise_ratio` is the same loss.

    Reference: Gutmann and Hirayama, arXiv:1202.3727; Xu, thesis, Tsinghua 2022, section 4.2.

    Example: generator: {use: logistic, noise_ratio: 4.0}
    """

    noise_ratio: Annotated[float, Gt(0)] = 1.0

    def psi(self, u: Tensor) -> Tensor:
        r = self.noise_ratio
        return torch.xlogy(u, u) - (r + u) * torch.log(r + u) + r * log(r)

    def s0(self, log_u: Tensor) -> Tensor:
        return self.noise_ratio * torch.nn.functional.softplus(log_u - log(self.noise_ratio))

    def s1(self, log_u: Tensor) -> Tensor:
        return -torch.nn.functional.softplus(log(self.noise_ratio) - log_u)
