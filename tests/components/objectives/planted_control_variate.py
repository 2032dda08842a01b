"""Bugs planted in the control variate, the proofs that look for them, and changes that are as right."""

from tests.components.objectives.proofs import control
from tests.planting import Planted

PROOFS = [
    control("the_term_and_its_gradient_have_mean_zero_under_the_copy", 1, lambda module: module.PsiAlone()),
    control("scatter_of_a_mean_goes_away_altogether"),
    control("the_factor_is_a_regression_over_earlier_steps", 8),
    control("its_gradient_is_that_of_differences", (2,)),
    control("the_loss_is_that_without_it_and_beta_times_its_mean", (2,)),
    control("a_model_beside_its_copy_has_no_term_at_all", (1, 5, 5)),
]

BUGS = [
    Planted(
        "Stein's operator with the wrong sign",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "trace_m.detach() - trace - (slope_u * slope_m).sum(1)",
        "trace_m.detach() - trace + (slope_u * slope_m).sum(1)",
    ),
    Planted(
        "Stein's operator without the second slope",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "return first * of_log_u + second * slope_u.square().sum(1)",
        "return first * of_log_u",
    ),
    Planted(
        "the copy bends nothing",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "trace_m.detach() - trace",
        "-trace",
    ),
    Planted(
        "factor with the wrong sign",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "-self.covariance",
        "self.covariance",
    ),
    Planted(
        "factor fitted to the samples at hand",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "return beta * terms.mean()",
        "return self.beta * terms.mean()",
    ),
    Planted(
        "a term without a gradient",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "return beta * terms.mean()",
        "return beta * terms.mean().detach()",
    ),
    Planted(
        "another direction for the copy",
        "control_variate",
        "components/objectives/nets/control_variate.py",
        "curvature(noise, x, v)",
        "curvature(noise, x, draw_probes('rademacher', x, 1, rng))",
    ),
]

AS_RIGHT: list[Planted] = []
