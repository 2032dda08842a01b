"""Bugs planted in the generators, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import adaptive, generator
from tests.planting import Planted

PROOFS = [
    *(
        generator(function, row)
        for row in (2, 3, 6, 7, 11)
        for function in (
            "closed_forms_are_those_of_psi",
            "psi_is_the_published_function_up_to_its_constant",
            "curvature_at_one_is_the_factor_of_maximum_likelihood",
        )
    ),
    adaptive("gradient_at_interval_one_is_data_phase_minus_model_phase", (2,), lambda module: module.PsiAlone()),
]

BUGS = [
    Planted(
        "noise ratio inverted in S0",
        "generators",
        "components/bregman/logistic.py",
        "log_u - log(self.noise_ratio)",
        "log_u + log(self.noise_ratio)",
    ),
    Planted(
        "S1 without its constant",
        "generators",
        "components/bregman/kl.py",
        "return 1 + log_u",
        "return log_u",
    ),
    Planted(
        "half the published psi",
        "generators",
        "components/bregman/hellinger.py",
        "return -2 * u.sqrt()",
        "return -u.sqrt()",
    ),
    Planted(
        "second derivative of the power",
        "generators",
        "components/bregman/power.py",
        "(1 + self.beta) / self.beta",
        "1 / self.beta",
    ),
    Planted(
        "S0 with a wrong sign",
        "generators",
        "components/bregman/exponential.py",
        "self.rate * (log_u + exponent).exp() - exponent.exp()",
        "self.rate * (log_u + exponent).exp() + exponent.exp()",
    ),
    Planted(
        "derived S0 without u",
        "generators",
        "contracts/kinds/bregman.py",
        "u * self._slope(u) - self.psi(u)",
        "self._slope(u) - self.psi(u)",
    ),
    Planted(
        "derived S0 without the gradient of psi'",
        "generators",
        "contracts/kinds/bregman.py",
        "u * self._slope(u) - self.psi(u)",
        "u * self._slope(u.detach()) - self.psi(u)",
    ),
    Planted(
        "ratios clipped where they still count",
        "generators",
        "components/bregman/exponential.py",
        "BEYOND = 1000.0",
        "BEYOND = 10.0",
    ),
]

AS_RIGHT: list[Planted] = [
    Planted(
        "the root of the ratio",
        "generators",
        "components/bregman/hellinger.py",
        "return (log_u / 2).exp()",
        "return log_u.exp().sqrt()",
    )
]
