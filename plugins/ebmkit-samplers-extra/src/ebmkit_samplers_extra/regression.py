"""Bayesian linear regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from ebmkit.api import Event, Gt, Lt, MinLen, Model, component

if TYPE_CHECKING:
    from ebmkit_samplers_extra.posterior import RegressionPosterior


@component("bayesian_regression")
class BayesianRegression(Model):
    """Bayesian linear regression: the posterior of coefficients, a Gaussian prior times a Gaussian likelihood.

        E(x) = (x - m)' C^-1 (x - m) / 2 + sum_i (y_i - z_i . x)^2 / (2 noise_std^2)
        C = prior_std^2 ((1 - correlation) I + correlation 1 1')

    The posterior is a Gaussian: normaliser, samples and gradient are exact. The model has no trainable parameters.

    Parameters:
        inputs: z, one row of d numbers for each observation.
        targets: y, one number for each observation.
        noise_std: standard deviation of observations.
        prior_mean: m, the same for all coefficients.
        prior_std: prior standard deviation of a coefficient.
        correlation: prior correlation of two coefficients.

    Reference: Bishop, "Pattern recognition and machine learning", 2006, section 3.3.

    Example: model: {use: samplers_extra.bayesian_regression, inputs: [[1, 0.5], [1, -1]], targets: [0.3, 1.2]}
    """

    offers: ClassVar[frozenset[str]] = frozenset(
        {"energy", "gradient", "sample_exact", "log_z", "gaussian_prior", "subsampled"}
    )
    own_units: ClassVar[bool] = True

    inputs: Annotated[tuple[Annotated[tuple[float, ...], MinLen(1)], ...], MinLen(1)]
    targets: Annotated[tuple[float, ...], MinLen(1)]
    noise_std: Annotated[float, Gt(0)] = 1.0
    prior_mean: float = 0.0
    prior_std: Annotated[float, Gt(0)] = 1.0
    correlation: Annotated[float, Gt(-1), Lt(1)] = 0.0

    def __post_init__(self) -> None:
        if len(self.targets) != len(self.inputs):
            raise ValueError(f"'inputs' has {len(self.inputs)} rows, but 'targets' {len(self.targets)} numbers")
        d = len(self.inputs[0])
        for number, row in enumerate(self.inputs):
            if len(row) != d:
                raise ValueError(f"row {number} of 'inputs' has {len(row)} numbers, but row 0 has {d}")
        if d > 1 and self.correlation <= -1 / (d - 1):
            raise ValueError(f"{d} coefficients cannot all have a correlation of {self.correlation:g}")

    def event(self) -> Event:
        return (len(self.inputs[0]),)

    def parameter_count(self, event: Event) -> int:
        return 0

    def build(self, event: Event) -> RegressionPosterior:
        from ebmkit_samplers_extra.posterior import RegressionPosterior

        return RegressionPosterior(self)
