"""Geometric noise levels."""

from __future__ import annotations

import dataclasses
from math import log
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt

from ebmkit.components.schedules.diameter import SigmaMax, check_sigmas, diameter, known, single_point
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Schedule
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor


@component("geometric")
class Geometric(Schedule):
    """Geometric noise levels: a constant ratio between neighbours, as usual for score networks (NCSN).

        sigma_i = sigma_max (sigma_min / sigma_max)^((i - 1) / (count - 1)),    i = 1, ..., count

    Parameters:
        sigma_max: the largest level, as wide as the data; `auto` is the largest distance between two training points,
            so that a chain can move from any of them to any other.
        sigma_min: the smallest level, which blurs the samples.
        count: number of levels. `ebmkit schedule suggest SPEC` proposes all three for your data.

    Reference: Song and Ermon, "Generative modeling by estimating gradients of the data distribution", arXiv:1907.05600;
    for `auto`, "Improved techniques for training score-based generative models", arXiv:2006.09011, technique 1.

    Example: schedule: {use: geometric, sigma_max: auto, sigma_min: 0.01, count: 10}
    """

    sigma_max: SigmaMax = "auto"
    sigma_min: Annotated[float, Gt(0)] = 0.01
    count: Annotated[int, Ge(2)] = 10

    def __post_init__(self) -> None:
        check_sigmas(self.sigma_max, self.sigma_min)

    @property
    def needs_data(self) -> bool:
        return self.sigma_max == "auto"

    def refusal(self, question: Question) -> str | None:
        return single_point(question) if self.needs_data else None

    def fitted(self, data: Tensor) -> Geometric:
        return dataclasses.replace(self, sigma_max=diameter(data)) if self.needs_data else self

    def levels(self) -> Tensor:
        start, end = log(known(self.sigma_max)), log(self.sigma_min)
        return torch.linspace(start, end, self.count, device="cpu", dtype=torch.float64).exp()

    def prior_std(self) -> float:
        return known(self.sigma_max)
