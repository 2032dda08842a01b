"""The Gaussian mixture."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt, MinLen

from ebmkit.components.models.shape import check_shape
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.maths.covariance import Covariance, check_mixture, mixture_tensors

if TYPE_CHECKING:
    from ebmkit.components.models.nets.gaussian_mixture import GaussianMixtureEnergy


@component("gaussian_mixture")
class GaussianMixture(Model):
    """Gaussian mixture with exact normaliser, samples, gradient and noised marginals.

        E(x) = -log sum_k exp(h_k - 1/2 (x - m_k)' C_k^-1 (x - m_k)),    h_k = log w_k - 1/2 log det C_k
        log Z = d/2 log 2 pi,    for weights that sum to one

    Weights, means and covariances are trainable.

    Parameters:
        means: one list of coordinates per component.
        covariances: one covariance per component, or a single one for all: a variance, a list of variances, or rows.
        weights: positive numbers, divided by their sum; without them all components have the same weight.
        shape: shape of a state, such as [1, 4, 4]; without it a state is a flat list.

    Reference: Bishop, "Pattern recognition and machine learning", 2006, section 2.3.9.

    Example: model: {use: gaussian_mixture, means: [[-5.0, -5.0], [5.0, 5.0]], covariances: [1.0], weights: [1.0, 4.0]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "sample_exact", "log_z", "noised", "modes"})
    learning_rate: ClassVar[float] = 1e-2

    means: Annotated[tuple[Annotated[tuple[float, ...], MinLen(1)], ...], MinLen(1)] = ((-2.0, 0.0), (2.0, 0.0))
    covariances: Annotated[tuple[Covariance, ...], MinLen(1)] = (1.0,)
    weights: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(1)] | None = None
    shape: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] | None = None

    def __post_init__(self) -> None:
        check_mixture(self.means, self.covariances, self.weights)
        check_shape(self.shape, len(self.means[0]))

    def event(self) -> Event:
        return self.shape or (len(self.means[0]),)

    def parameter_count(self, event: Event) -> int:
        d = prod(event)
        return len(self.means) * (1 + d + d * d)

    def build(self, event: Event) -> GaussianMixtureEnergy:
        from ebmkit.components.models.nets.gaussian_mixture import GaussianMixtureEnergy

        return GaussianMixtureEnergy(*mixture_tensors(self.means, self.covariances, self.weights), event)
