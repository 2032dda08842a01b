"""The variance-exploding process."""

from __future__ import annotations

import dataclasses
from math import log
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt

from ebmkit.components.schedules.diameter import SigmaMax, check_sigmas, diameter, known, single_point
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Schedule
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor


@component("ve")
class VE(Schedule):
    """Variance-exploding SDE (VE): noise of growing scale is added to unchanged data, `geometric` in continuous time.

        dx = sqrt(d sigma^2 / dt) dB,    sigma(t) = sigma_min (sigma_max / sigma_min)^(t / T),    0 <= t <= T
        x_t = x + sigma(t) xi

    At t = 0 there is noise of sigma_min. Sampling starts from N(0, sigma_max^2 I).

    Parameters:
        sigma_max: noise at time T, wide compared with the data; `auto` is the largest distance between two training
            points.
        sigma_min: noise at time 0, which blurs the samples.
        horizon: the final time T, which only sets the unit of time.

    Reference: Song et al., "Score-based generative modeling through stochastic differential equations",
    arXiv:2011.13456, equation 30.

    Example: schedule: {use: ve, sigma_max: 50.0, sigma_min: 0.01}
    """

    earliest: ClassVar[float] = 0.0  # type: ignore[misc]  # a parameter of schedules without noise at time zero

    sigma_max: SigmaMax = "auto"
    sigma_min: Annotated[float, Gt(0)] = 0.01
    horizon: Annotated[float, Gt(0)] = 1.0

    def __post_init__(self) -> None:
        check_sigmas(self.sigma_max, self.sigma_min)

    @property
    def needs_data(self) -> bool:
        return self.sigma_max == "auto"

    def refusal(self, question: Question) -> str | None:
        return single_point(question) if self.needs_data else None

    def fitted(self, data: Tensor) -> VE:
        return dataclasses.replace(self, sigma_max=diameter(data)) if self.needs_data else self

    def at(self, t: Tensor) -> tuple[Tensor, Tensor]:
        rate = log(known(self.sigma_max) / self.sigma_min) / self.horizon
        return torch.ones_like(t), (rate * t).exp() * self.sigma_min

    def prior_std(self) -> float:
        return known(self.sigma_max)
