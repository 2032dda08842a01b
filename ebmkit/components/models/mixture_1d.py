"""The mixture on the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model

if TYPE_CHECKING:
    from ebmkit.components.models.nets.mixture_1d import Mixture1DEnergy


@component("mixture_1d")
class Mixture1D(Model):
    """A lopsided mixture of two Gaussians on the line, the textbook target of Metropolis sampling.

        E(x) = -log(3 exp(-(x + 2)^2 / 2) + exp(-(x - 4)^2 / 8)),    log Z = log(5 sqrt(2 pi))

    The components N(-2, 1) and N(4, 4) weigh 0.6 and 0.4; the mean is 0.4. Nothing in it is trained:
    `gaussian_mixture` is the same with parameters.

    Reference: Amini, "Deep generative models", lecture 7, Sharif University of Technology (figure of the
    Metropolis-Hastings algorithm).

    Example: model: mixture_1d
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "sample_exact", "log_z", "modes"})

    def event(self) -> Event:
        return (1,)

    def build(self, event: Event) -> Mixture1DEnergy:
        from ebmkit.components.models.nets.mixture_1d import Mixture1DEnergy

        return Mixture1DEnergy(event)
