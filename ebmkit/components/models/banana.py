"""The banana-shaped density."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from annotated_types import Ge, Gt

from ebmkit.contracts.component import component
from ebmkit.contracts.kinds import Event, Model

if TYPE_CHECKING:
    from ebmkit.components.models.nets.banana import BananaEnergy


@component("banana")
class Banana(Model):
    """Banana-shaped density: a Gaussian curved along a parabola, with exact normaliser, samples and gradient.

        E(x) = x_1^2 / (2 s^2) + 1/2 (x_2 + b (x_1^2 - s^2))^2 + 1/2 sum_{i > 2} x_i^2
        log Z = d/2 log 2 pi + log s

    The mean is zero; x_1 has variance s^2, x_2 has variance 1 + 2 b^2 s^4. The model has no trainable parameters.

    Parameters:
        dim: d, number of coordinates; the first two are curved.
        scale: s, standard deviation of x_1, half the length of the banana.
        curvature: b; 0 gives a Gaussian.

    Reference: Haario, Saksman and Tamminen, "Adaptive proposal distribution for random walk Metropolis algorithm",
    Computational Statistics 14, 1999 (s = 10, b = 0.03 and 0.1).

    Example: model: {use: banana, scale: 2.0, curvature: 0.5}
    """

    offers: ClassVar[frozenset[str]] = frozenset({"energy", "gradient", "sample_exact", "log_z"})

    dim: Annotated[int, Ge(2)] = 2
    scale: Annotated[float, Gt(0)] = 2.0
    curvature: float = 0.5

    def event(self) -> Event:
        return (self.dim,)

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> BananaEnergy:
        from ebmkit.components.models.nets.banana import BananaEnergy

        return BananaEnergy(event, self.scale, self.curvature)
