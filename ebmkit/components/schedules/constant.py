"""A single noise level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Schedule
from ebmkit.contracts.lazy import torch

if TYPE_CHECKING:
    from torch import Tensor


@component("constant")
class Constant(Schedule):
    """Constant schedule: a single noise level, as in `denoising_score_matching`.

        sigma_1 = sigma

    Parameters:
        sigma: standard deviation of the noise.

    Reference: Vincent, "A connection between score matching and denoising autoencoders", Neural Computation 23, 2011.

    Example: schedule: {use: constant, sigma: 0.3}
    """

    count: ClassVar[int] = 1  # type: ignore[misc]  # a parameter of other schedules, fixed here

    sigma: Annotated[float, Gt(0)] = 0.1

    def levels(self) -> Tensor:
        return torch.tensor([self.sigma], device="cpu", dtype=torch.float64)

    def prior_std(self) -> float:
        return self.sigma
