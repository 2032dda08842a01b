"""The double well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model

if TYPE_CHECKING:
    from ebmkit.components.models.nets.double_well import DoubleWellEnergy


@component("double_well")
class DoubleWell(Model):
    """Double-well potential: two wells of equal depth along the first coordinate, separated by a barrier.

        E(x) = h ((x_1 / a)^2 - 1)^2 + 1/2 sum_{i > 1} x_i^2

    Normaliser and samples come from a table of 16384 points, integrated in float64 when the model is built: log Z is
    exact to rounding, and the distribution function of x_1, inverted for sampling, is exact to 2e-7. The model has no
    trainable parameters.

    Parameters:
        dim: d, number of coordinates; those beyond the first are standard normal.
        position: a, the wells lie at x_1 = a and -a.
        barrier: h, the energy between the wells, in units of the temperature.

    Reference: Kramers, "Brownian motion in a field of force and the diffusion model of chemical reactions", Physica 7,
    1940.

    Example: model: {use: double_well, barrier: 4.0}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "sample_exact", "log_z", "modes"})

    dim: Annotated[int, Ge(1)] = 2
    position: Annotated[float, Gt(0)] = 2.0
    barrier: Annotated[float, Gt(0)] = 4.0

    def event(self) -> Event:
        return (self.dim,)

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> DoubleWellEnergy:
        from ebmkit.components.models.nets.double_well import DoubleWellEnergy

        return DoubleWellEnergy(event, self.position, self.barrier)
