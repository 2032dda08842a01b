"""The one-dimensional Gaussian mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model

if TYPE_CHECKING:
    from ebmkit.components.models.nets.mixture_1d import Mixture1DEnergy


@component("mixture_1d")
class Mixture1D(Model):
    """One-dimensional mixture of two unequal Gaussians, a textbook target of Metropolis sampling.

        E(x) = -log(3 exp(-(x + 2)^2 / 2) + exp(-(x - 4)^2 / 8)),    log Z = log(5 sqrt(2 pi))

    The components N(-2, 1) and N(4, 4) have the weights 0.6 and 0.4; the mean is 0.4. The model has no trainable
    parameters; `gaussian_mixture` has.

    Reference: Amini, "Deep generative models", lecture 7, Sharif University of Technology (figure of the
    Metropolis-Hastings algorithm).

    Example: model: mixture_1d
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "sample_exact", "log_z", "modes"})

    def event(self) -> Event:
        return (1,)

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> Mixture1DEnergy:
        from ebmkit.components.models.nets.mixture_1d import Mixture1DEnergy

        return Mixture1DEnergy(event)
