"""The variance-preserving process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Schedule
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


@component("vp")
class VP(Schedule):
    """Variance-preserving SDE (VP): noise replaces the data at constant total variance.

        dx = -1/2 beta(t) x dt + sqrt(beta(t)) dB,    beta(t) = beta_min + (beta_max - beta_min) t / T,    0 <= t <= T
        x_t = a x + sqrt(1 - a^2) xi,    a = exp(-1/2 integral of beta from 0 to t)

    Sampling starts from N(0, I). With beta_min = beta_max = 2 this is the Ornstein-Uhlenbeck process of Zhang's
    lecture, dx = -x dt + sqrt(2) dB, in which a = exp(-t). The defaults are those of diffusion models on data of unit
    variance.

    Parameters:
        beta_min: rate at time 0.
        beta_max: rate at time T.
        horizon: the final time T. Signal that remains then is an error of sampling.
        earliest: time at which training starts and sampling ends; at time 0 there is no noise and no score of it.

    Reference: Song et al., "Score-based generative modeling through stochastic differential equations",
    arXiv:2011.13456, equation 32; Chen et al., "Sampling is as easy as learning the score", arXiv:2209.11215 (the
    Ornstein-Uhlenbeck process).

    Example: schedule: {use: vp, beta_min: 2.0, beta_max: 2.0, horizon: 5.0}
    """

    beta_min: Annotated[float, Gt(0)] = 0.1
    beta_max: Annotated[float, Gt(0)] = 20.0
    horizon: Annotated[float, Gt(0)] = 1.0
    earliest: Annotated[float, Gt(0)] = 1e-3

    def __post_init__(self) -> None:
        if self.earliest >= self.horizon:
            raise ValueError(f"'earliest' is {self.earliest}, but must be below 'horizon', {self.horizon}")

    def at(self, t: Tensor) -> tuple[Tensor, Tensor]:
        lost = self.beta_min * t + (self.beta_max - self.beta_min) / (2 * self.horizon) * t.square()
        return (-lost / 2).exp(), (-torch.expm1(-lost)).sqrt()

    def prior_std(self) -> float:
        return 1.0
