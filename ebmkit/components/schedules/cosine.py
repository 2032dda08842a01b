"""The cosine schedule."""

from __future__ import annotations

from math import atan
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt

from ebmkit.components.schedules.diameter import check_sigmas
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Schedule

if TYPE_CHECKING:
    from torch import Tensor


@component("cosine")
class Cosine(Schedule):
    """Cosine schedule: a variance-preserving process along a circle, with an angle that grows linearly in time.

        x_t = cos(angle) x + sin(angle) xi,    angle = atan(sigma_min) + (atan(sigma_max) - atan(sigma_min)) t / T

    The ends of the quarter circle, without noise or without signal, are cut off at the noise-to-signal ratios sigma_min
    and sigma_max. Sampling starts from N(0, I). Nichol and Dhariwal's offset of 0.008 is a sigma_min of 0.0125. `vp`
    replaces most of the data in the middle of the process.

    Parameters:
        sigma_max: noise over signal at time T.
        sigma_min: noise over signal at time 0, which blurs the samples.
        horizon: the final time T, which only sets the unit of time.

    Reference: Nichol and Dhariwal, "Improved denoising diffusion probabilistic models", arXiv:2102.09672, equation 17;
    Salimans and Ho, "Progressive distillation for fast sampling of diffusion models", arXiv:2202.00512.

    Example: schedule: {use: cosine, sigma_max: 100.0, sigma_min: 0.01}
    """

    earliest: ClassVar[float] = 0.0  # type: ignore[misc]  # a parameter of schedules without noise at time zero

    sigma_max: Annotated[float, Gt(0)] = 100.0
    sigma_min: Annotated[float, Gt(0)] = 0.01
    horizon: Annotated[float, Gt(0)] = 1.0

    def __post_init__(self) -> None:
        check_sigmas(self.sigma_max, self.sigma_min)

    def at(self, t: Tensor) -> tuple[Tensor, Tensor]:
        first, last = atan(self.sigma_min), atan(self.sigma_max)
        angle = first + (last - first) / self.horizon * t
        return angle.cos(), angle.sin()

    def prior_std(self) -> float:
        return 1.0
