"""Neal's funnel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model

if TYPE_CHECKING:
    from ebmkit.components.models.nets.funnel import FunnelEnergy


@component("funnel")
class Funnel(Model):
    """Neal's funnel: the first coordinate is the log variance of all others, so no single step size suits all.

        x_1 ~ N(0, s^2),    x_i ~ N(0, exp(x_1)) for i > 1
        E(x) = x_1^2 / (2 s^2) + (d - 1) x_1 / 2 + exp(-x_1) / 2 sum_{i > 1} x_i^2
        log Z = d/2 log 2 pi + log s

    Normaliser, samples and gradient are exact. The model has no trainable parameters.

    Parameters:
        dim: d, number of coordinates.
        scale: s, standard deviation of the log variance.

    Reference: Neal, "Slice sampling", Annals of Statistics 31, 2003, section 8 (d = 10, s = 3).

    Example: model: {use: funnel, dim: 10}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "sample_exact", "log_z"})

    dim: Annotated[int, Ge(2)] = 2
    scale: Annotated[float, Gt(0)] = 3.0

    def event(self) -> Event:
        return (self.dim,)

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> FunnelEnergy:
        from ebmkit.components.models.nets.funnel import FunnelEnergy

        return FunnelEnergy(event, self.scale)
