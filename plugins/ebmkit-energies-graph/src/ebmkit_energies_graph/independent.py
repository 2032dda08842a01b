"""Independent particles as noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Event, Gt, Noise, Question, component
from ebmkit_energies_graph.particles import particle_count

if TYPE_CHECKING:
    from torch import Tensor

    from ebmkit_energies_graph.independent_density import IndependentDensity


@component("independent")
class Independent(Noise):
    """Independent particles: every particle has the same Gaussian distribution, fitted to those of all points.

        p(x_1, ..., x_n) = prod_i N(x_i; m, inflate C),    m, C: mean and covariance over all particles of all points

    Like the data it does not depend on the order of particles, so that contrasting with it teaches their interaction.
    The last axis of a state contains the coordinates of a particle.

    Parameters:
        inflate: factor of the fitted covariance; with a little more than 1 the noise covers the edge of the data.

    Reference: Gutmann and Hyvarinen, JMLR 13, 2012, section 2.4 (noise with the moments of the data).

    Example: noise: {use: graph.independent, inflate: 1.1}
    """

    inflate: Annotated[float, Gt(0)] = 1.1

    def refusal(self, question: Question) -> str | None:
        points, needed = question.train_points, question.event[-1] + 1
        if points is None or points * particle_count(question.event) >= needed:
            return None
        return f"fits a covariance of {question.event[-1]} coordinates, which takes {needed} particles"

    def build(self, event: Event, data: Tensor) -> IndependentDensity:
        from ebmkit_energies_graph.independent_density import IndependentDensity

        return IndependentDensity.fitted(event, data, self.inflate)
