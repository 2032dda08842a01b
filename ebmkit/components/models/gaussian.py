"""The Gaussian."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, MinLen

from ebmkit.components.models.shape import check_shape
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model
from ebmkit.contracts.lazy import torch
from ebmkit.maths.covariance import Covariance, check_covariance, covariance_matrix

if TYPE_CHECKING:
    from ebmkit.components.models.nets.gaussian import GaussianEnergy


@component("gaussian")
class Gaussian(Model):
    """Multivariate Gaussian with exact normaliser, samples, gradient and noised marginals.

        E(x) = 1/2 (x - mean)' C^-1 (x - mean),    log Z = 1/2 log det(2 pi C)

    Mean and covariance are trainable.

    Parameters:
        mean: one number per coordinate; an image is written row by row, see `shape`.
        covariance: C as a variance for all coordinates, a list of variances, or a list of rows.
        shape: shape of a state, such as [1, 4, 4]; without it a state is a flat list.

    Reference: Bishop, "Pattern recognition and machine learning", 2006, section 2.3.

    Example: model: {use: gaussian, mean: [0.0, 1.0], covariance: [[1.0, 0.5], [0.5, 2.0]]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "sample_exact", "log_z", "noised"})
    learning_rate: ClassVar[float] = 1e-2

    mean: Annotated[tuple[float, ...], MinLen(1)] = (0.0, 0.0)
    covariance: Covariance = 1.0
    shape: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] | None = None

    def __post_init__(self) -> None:
        check_covariance(self.covariance, len(self.mean))
        check_shape(self.shape, len(self.mean))

    def event(self) -> Event:
        return self.shape or (len(self.mean),)

    def parameter_count(self, event: Event) -> int:
        return prod(event) * (prod(event) + 1)

    def build(self, event: Event) -> GaussianEnergy:
        from ebmkit.components.models.nets.gaussian import GaussianEnergy

        mean = torch.tensor(self.mean, dtype=torch.float64)
        return GaussianEnergy(mean, covariance_matrix(self.covariance, len(self.mean)), event)
