"""Gaussian mixture noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Gt, MinLen

from ebmkit.components.noise.fitted import fit_refusal
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Noise
from ebmkit.contracts.lazy import torch
from ebmkit.contracts.question import Question
from ebmkit.maths.covariance import Covariance, check_mixture, covariance_matrix

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit.components.noise.nets.gaussian_mixture_density import GaussianMixtureDensity

COMPONENTS = 8
STEPS = 30
INFLATE = 1.2


@component("gaussian_mixture")
class GaussianMixtureNoise(Noise):
    """Gaussian mixture noise, fitted to the training data by expectation maximisation unless it is given.

        p(x) = sum_k w_k N(x; m_k, C_k)

    The fit starts from data points that are far apart, and is deterministic. A thousandth of the data's mean variance
    is added to every component, so that none collapses on few points.

    Parameters:
        means: one list of coordinates per component; requires `covariances`.
        covariances: one covariance per component, or a single one for all: a variance, a list of variances, or rows.
        weights: positive numbers, divided by their sum, for given means; without them all are equal.
        components: number of components of the fit.
        steps: number of iterations of the fit.
        inflate: factor of the fitted covariances; with a little more than 1 the noise covers the edge of the data.

    Reference: Dempster, Laird and Rubin, "Maximum likelihood from incomplete data via the EM algorithm", Journal of the
    Royal Statistical Society B 39, 1977.

    Example: noise: {use: gaussian_mixture, components: 3}
    """

    means: Annotated[tuple[Annotated[tuple[float, ...], MinLen(1)], ...], MinLen(1)] | None = None
    covariances: Annotated[tuple[Covariance, ...], MinLen(1)] | None = None
    weights: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] | None = None
    components: Annotated[int, Ge(1)] = COMPONENTS
    steps: Annotated[int, Ge(1)] = STEPS
    inflate: Annotated[float, Gt(0)] = INFLATE

    def __post_init__(self) -> None:
        if (self.means is None) != (self.covariances is None):
            raise ValueError("give 'means' and 'covariances' together, or neither to have both fitted to the data")
        if self.means is None or self.covariances is None:
            if self.weights is not None:
                raise ValueError("'weights' are for given 'means', but there are none")
            return
        if (self.components, self.steps, self.inflate) != (COMPONENTS, STEPS, INFLATE):
            raise ValueError("'components', 'steps' and 'inflate' are for a fitted mixture, but 'means' are given")
        check_mixture(self.means, self.covariances, self.weights)

    def event(self) -> Event | None:
        return None if self.means is None else (len(self.means[0]),)

    def refusal(self, question: Question) -> str | None:
        if self.means is not None:
            return None
        return fit_refusal(question, self.components + 1, "give fewer 'components', or more points", without=())

    def build(self, event: Event, data: Tensor) -> GaussianMixtureDensity:
        from ebmkit.components.noise.nets.gaussian_mixture_density import GaussianMixtureDensity

        if self.means is not None and self.covariances is not None:
            means = torch.tensor(self.means, dtype=torch.float64)
            count, dimension = means.shape
            weights = torch.tensor(self.weights or (1.0,) * count, dtype=torch.float64)
            given = torch.stack([covariance_matrix(c, dimension) for c in self.covariances])
            return GaussianMixtureDensity(weights / weights.sum(), means, given.expand(count, -1, -1), event)
        return self._fitted(event, data.flatten(1).double())

    def _fitted(self, event: Event, points: Tensor) -> GaussianMixtureDensity:
        from ebmkit.components.noise.nets.gaussian_mixture_density import GaussianMixtureDensity
        from ebmkit.components.noise.nets.mixture_fit import fit_mixture

        different = len(torch.unique(points, dim=0))
        if different <= self.components:
            raise ValueError(f"{different} distinct points are too few for {self.components} components")
        weights, means, covariances = fit_mixture(points, self.components, self.steps)
        return GaussianMixtureDensity(weights, means, self.inflate * covariances, event)
