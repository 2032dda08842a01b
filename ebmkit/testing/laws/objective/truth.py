"""The laws of what an objective learns: whether its minimum is the truth, and whether it leads there."""

from __future__ import annotations

import math

from ebmkit.contracts.kinds import Objective
from ebmkit.testing.case import Case
from ebmkit.testing.example import instance
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.truth import Family, require_minimum, require_slope_towards_the_truth


def has_its_minimum_at_the_truth(objective: Objective, case: Case) -> str:
    """If it claims to be `consistent`, its mean gradient is zero at the parameters that the points were drawn from, at
    a false-alarm rate of 1e-6; tested with its default parameters, on states of two units."""
    if not objective.consistent:
        raise Inapplicable("it does not claim to be `consistent`")
    if objective != instance(type(objective)):
        raise Inapplicable("`consistent` is a claim about its default parameters, and these are others")
    return require_minimum(_family(objective, case))


def leads_towards_the_truth(objective: Objective, case: Case) -> None:
    """At parameters that are off by a fifth, a small step towards those that the points were drawn from lowers the
    loss, at a false-alarm rate of 1e-6; also that of an objective with a bias, on states of two units."""
    require_slope_towards_the_truth(_family(objective, case))


def _family(objective: Objective, case: Case) -> Family:
    if math.prod(case.event) != 2:
        raise Inapplicable("it is tested on states of two units")
    return Family(objective, case.event, case.partners)
