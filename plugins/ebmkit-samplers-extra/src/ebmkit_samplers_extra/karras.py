"""Noise levels of Karras et al."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Ge, Gt, Schedule, component, torch

if TYPE_CHECKING:
    from torch import Tensor


@component("karras")
class Karras(Schedule):
    """Karras noise levels: evenly spaced after a root, so that most of them are low, where steps have to be short.

        sigma_i = (sigma_max^(1/rho) + (i - 1) / (count - 1) (sigma_min^(1/rho) - sigma_max^(1/rho)))^rho
        i = 1, ..., count

    rho = 1 gives even distances, rho -> inf the constant ratio of `geometric`.

    Parameters:
        sigma_max: the largest level, as wide as the data.
        sigma_min: the smallest level, which blurs the samples.
        count: number of levels.
        rho: exponent; 7 is the published value.

    Reference: Karras, Aittala, Aila and Laine, "Elucidating the design space of diffusion-based generative models",
    arXiv:2206.00364, equation 5.

    Example: schedule: {use: samplers_extra.karras, sigma_max: 10.0, sigma_min: 0.01, count: 20}
    """

    sigma_max: Annotated[float, Gt(0)] = 10.0
    sigma_min: Annotated[float, Gt(0)] = 0.01
    count: Annotated[int, Ge(2)] = 20
    rho: Annotated[float, Ge(1)] = 7.0

    def __post_init__(self) -> None:
        if self.sigma_max <= self.sigma_min:
            raise ValueError(f"'sigma_max' is {self.sigma_max:g}, but must be above 'sigma_min', {self.sigma_min:g}")

    def levels(self) -> Tensor:
        first, last = self.sigma_max ** (1 / self.rho), self.sigma_min ** (1 / self.rho)
        return torch.linspace(first, last, self.count, device="cpu", dtype=torch.float64) ** self.rho

    def prior_std(self) -> float:
        return self.sigma_max
