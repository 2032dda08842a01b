"""The Dirichlet distribution on the simplex."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ebmkit.api import Event, Gt, MinLen, component
from ebmkit_bayes.posterior import Posterior

if TYPE_CHECKING:
    from ebmkit_bayes.dirichlet_energy import DirichletEnergy


@component("dirichlet")
class Dirichlet(Posterior):
    """Dirichlet distribution by stick breaking: probabilities of categories, the posterior of observed counts.

        p(p_1, ..., p_K) prop. to prod_k p_k^(a_k - 1),    p_k = z_k prod_{i < k} (1 - z_i),    p_K the rest
        z_k = sigmoid(x_k - log(K - k)),    k = 1, ..., K - 1

    The energy of x contains the log Jacobian, sum_k log p_k + log(1 - z_k). x = 0 is the centre of the simplex. After
    n_k observations of category k with a uniform prior, a_k = n_k + 1.

    Parameters:
        concentration: a, one positive number for each category.

    Reference: Carpenter et al., "Stan: a probabilistic programming language", Journal of Statistical Software 76, 2017,
    and the reference manual of Stan on unit simplexes.

    Example: model: {use: bayes.dirichlet, concentration: [9.0, 4.0, 0.5]}
    """

    concentration: Annotated[tuple[Annotated[float, Gt(0)], ...], MinLen(2)] = (4.0, 2.0, 0.5)

    def coordinate_names(self) -> tuple[str, ...]:
        return tuple(f"stick[{k}]" for k in range(1, len(self.concentration)))

    def quantity_names(self) -> tuple[str, ...]:
        return tuple(f"p[{k}]" for k in range(1, len(self.concentration) + 1))

    def build(self, event: Event) -> DirichletEnergy:
        from ebmkit_bayes.dirichlet_energy import DirichletEnergy

        return DirichletEnergy(self.concentration)
