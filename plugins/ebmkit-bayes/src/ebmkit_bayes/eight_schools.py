"""The eight schools, in both parametrisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.api import Event, component
from ebmkit_bayes.posterior import Posterior

if TYPE_CHECKING:
    from ebmkit_bayes.eight_schools_energy import CentredEnergy, NonCentredEnergy

SCHOOLS = range(1, 9)
QUANTITIES = ("mu", "tau", *(f"theta[{school}]" for school in SCHOOLS))


@component("eight_schools")
class EightSchools(Posterior):
    """Eight schools, non-centred: effects of coaching on test results, as coordinates that samplers can explore.

        mu ~ N(0, 5^2),    tau ~ HalfCauchy(5),    eta_j ~ N(0, 1)
        theta_j = mu + tau eta_j,    y_j ~ N(theta_j, sigma_j^2),    j = 1, ..., 8

    The coordinates are mu, log tau and eta; the quantities mu, tau and theta. Their exact moments and the evidence are
    integrals over tau alone, since the rest is Gaussian.

    Reference: Rubin, "Estimation in parallel randomized experiments", Journal of Educational Statistics 6, 1981; the
    priors are those of `eight_schools_noncentered` in posteriordb.

    Example: model: bayes.eight_schools
    """

    def coordinate_names(self) -> tuple[str, ...]:
        return ("mu", "log_tau", *(f"eta[{school}]" for school in SCHOOLS))

    def quantity_names(self) -> tuple[str, ...]:
        return QUANTITIES

    def build(self, event: Event) -> NonCentredEnergy:
        from ebmkit_bayes.eight_schools_energy import NonCentredEnergy

        return NonCentredEnergy()


@component("eight_schools_centred")
class EightSchoolsCentred(Posterior):
    """Eight schools, centred: the same posterior with theta as coordinates, a funnel that chains leave out in part.

        mu ~ N(0, 5^2),    tau ~ HalfCauchy(5),    theta_j ~ N(mu, tau^2)
        y_j ~ N(theta_j, sigma_j^2),    j = 1, ..., 8

    Where tau is small, all theta are close to mu, so that no single step size suits all tau: Hamiltonian trajectories
    diverge. The coordinates are mu, log tau and theta.

    Reference: Betancourt and Girolami, "Hamiltonian Monte Carlo for hierarchical models", arXiv:1312.0906.

    Example: model: bayes.eight_schools_centred
    """

    def coordinate_names(self) -> tuple[str, ...]:
        return ("mu", "log_tau", *(f"theta[{school}]" for school in SCHOOLS))

    def quantity_names(self) -> tuple[str, ...]:
        return QUANTITIES

    def build(self, event: Event) -> CentredEnergy:
        from ebmkit_bayes.eight_schools_energy import CentredEnergy

        return CentredEnergy()
