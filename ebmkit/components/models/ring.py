"""The ring-shaped density."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model

if TYPE_CHECKING:
    from ebmkit.components.models.nets.ring import RingEnergy


@component("ring")
class Ring(Model):
    """Ring-shaped density in the first two coordinates, with exact normaliser, samples and gradient.

        E(x) = (q - R^2)^2 / (8 R^2 w^2) + 1/2 sum_{i > 2} x_i^2,    q = x_1^2 + x_2^2
        log Z = d/2 log 2 pi + log(R w sqrt(2 pi)) + log Phi(R / (2 w)),    Phi the normal distribution function

    Near the ring the first term is (|x| - R)^2 / (2 w^2); in terms of squares it is also smooth at the centre. q has a
    Gaussian distribution of mean R^2 and standard deviation 2 R w, truncated at zero, and is drawn directly. The model
    has no trainable parameters.

    Parameters:
        dim: d, number of coordinates; those beyond the second are standard normal.
        radius: R, at which the energy is lowest.
        width: w, standard deviation across a thin ring.

    Reference: Rezende and Mohamed, "Variational inference with normalizing flows", arXiv:1505.05770, table 1 (U_1,
    without its two modes).

    Example: model: {use: ring, radius: 3.0, width: 0.3}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "sample_exact", "log_z"})

    dim: Annotated[int, Ge(2)] = 2
    radius: Annotated[float, Gt(0)] = 3.0
    width: Annotated[float, Gt(0)] = 0.3

    def event(self) -> Event:
        return (self.dim,)

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> RingEnergy:
        from ebmkit.components.models.nets.ring import RingEnergy

        return RingEnergy(event, self.radius, self.width)
