"""Gaussian noise."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated

from annotated_types import Gt, MinLen

from ebmkit.components.noise.fitted import fit_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Noise
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.maths.covariance import Covariance, check_covariance, covariance_matrix

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.gaussian_density import GaussianDensity

#: Wider than the data, so that the noise also covers their edge.
INFLATE = 1.2


@component("gaussian")
class GaussianNoise(Noise):
    """Gaussian noise with full covariance, fitted to the training data unless mean and covariance are given.

        fitted:  N(mean of the data, inflate * covariance of the data)
        given:   N(mean, covariance)

    Parameters:
        mean: one number per coordinate; requires `covariance`.
        covariance: a variance for all coordinates, a list of variances, or a list of rows.
        inflate: factor of the fitted covariance; with a little more than 1 the noise covers the edge of the data.

    Reference: Gutmann and Hyvarinen, JMLR 13, 2012, section 2.4 (noise with the covariance of the data).

    Example: noise: {use: gaussian, inflate: 1.2}
    """

    mean: Annotated[tuple[float, ...], MinLen(1)] | None = None
    covariance: Covariance | None = None
    inflate: Annotated[float, Gt(0)] = INFLATE

    def __post_init__(self) -> None:
        if (self.mean is None) != (self.covariance is None):
            raise ValueError("give 'mean' and 'covariance' together, or neither to have both fitted to the data")
        if self.mean is not None and self.covariance is not None:
            check_covariance(self.covariance, len(self.mean))
            if self.inflate != INFLATE:
                raise ValueError(
                    "'inflate' scales a fitted covariance, but 'covariance' is given: scale 'covariance' instead"
                )

    def event(self) -> Event | None:
        return None if self.mean is None else (len(self.mean),)

    def refusal(self, question: Question) -> str | None:
        if self.mean is not None:
            return None
        instead = "give 'mean' and 'covariance', or more varied points"
        return fit_refusal(question, prod(question.event) + 1, instead, without=("constant", "degenerate"))

    def build(self, event: Event, data: Tensor) -> GaussianDensity:
        from ebmkit.components.noise.nets.gaussian_density import GaussianDensity

        if self.mean is not None and self.covariance is not None:
            mean = torch.tensor(self.mean, dtype=torch.float64)
            covariance = covariance_matrix(self.covariance, len(self.mean))
        else:
            points = data.flatten(1).double()
            mean = points.mean(0)
            covariance = self.inflate * torch.cov(points.T).reshape(len(mean), len(mean))
        if torch.linalg.cholesky_ex(covariance).info:
            raise ValueError(
                f"{len(data)} points do not span {len(mean)} coordinates, so no Gaussian can be fitted: "
                "give 'mean' and 'covariance', or data that vary in every coordinate"
            )
        return GaussianDensity(mean, covariance, event)
