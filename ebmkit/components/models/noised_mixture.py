"""The Gaussian mixture under noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt, MinLen

from ebmkit.components.models.shape import check_shape
from ebmkit.components.schedules.vp import VP
from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model, Schedule
from ebmkit.maths.covariance import Covariance, check_mixture, mixture_tensors

if TYPE_CHECKING:
    from ebmkit.components.models.nets.noised_mixture import NoisedMixture


@component("noised_mixture")
class NoisedMixtureModel(Model):
    """Gaussian mixture under noise, with the exact score at every noise level.

        q_level(x) = sum_k w_k N(x; signal m_k, signal^2 C_k + noise^2 I),    s = d log q_level / dx

    Samplers from noise to data can be tested on it without the errors of a network.

    Parameters:
        schedule: the noise levels, or the process in time, the same as the sampler's.
        means: one list of coordinates per component; one component is a Gaussian.
        covariances: one covariance per component, or a single one for all: a variance, a list of variances, or rows.
        weights: positive numbers, divided by their sum; without them all components have the same weight.
        shape: shape of a state, such as [1, 4, 4]; without it a state is a flat list.

    Reference: Chen et al., "Sampling is as easy as learning the score", arXiv:2209.11215 (what an exact score gives).

    Example: model: {use: noised_mixture, schedule: vp, means: [[-2.0, 0.0], [2.0, 0.0]], covariances: [0.1]}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "score", "modes"})

    schedule: Schedule = VP()
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
        return 0

    def build(self, event: Event) -> NoisedMixture:
        from ebmkit.components.models.nets.noised_mixture import NoisedMixture

        return NoisedMixture(self.schedule, *mixture_tensors(self.means, self.covariances, self.weights), event)
