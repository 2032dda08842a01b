"""Parzen window noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt

from ebmkit.components.noise.fitted import fit_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Noise
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.parzen import ParzenDensity


@component("parzen")
class ParzenNoise(Noise):
    """Kernel density estimate (Parzen windows): a Gaussian at each of M data points.

        p(x) = 1/M sum_m N(x; x_m, diag(h^2))
        Scott's rule:  h_i = M^(-1 / (d + 4)) * standard deviation of coordinate i

    Parameters:
        points: M, number of training points (all of them if there are fewer).
        bandwidth: h for every coordinate; without it Scott's rule gives one each.

    Reference: Parzen, Annals of Mathematical Statistics 33, 1962; Scott, "Multivariate density estimation", 1992.

    Example: noise: {use: parzen, points: 100, bandwidth: 0.3}
    """

    points: Annotated[int, Ge(1)] = 1000
    bandwidth: Annotated[float, Gt(0)] | None = None

    def refusal(self, question: Question) -> str | None:
        return None if self.bandwidth is not None else fit_refusal(question, 2, "give 'bandwidth'")

    def build(self, event: Event, data: Tensor) -> ParzenDensity:
        from ebmkit.components.noise.nets.parzen import ParzenDensity

        chosen = data[torch.randperm(len(data))[: self.points]].flatten(1).double()
        count, dimension = chosen.shape
        if self.bandwidth is not None:
            return ParzenDensity(chosen, torch.full((dimension,), self.bandwidth, dtype=torch.float64), event)
        bandwidth = count ** (-1 / (dimension + 4)) * data.flatten(1).double().std(0)
        if not bool((bandwidth > 0).all()):
            raise ValueError("the data do not vary in every coordinate, so Scott's rule fails: give 'bandwidth'")
        return ParzenDensity(chosen, bandwidth, event)
