"""The claims of a spec, compared with the results."""

from __future__ import annotations

from ebmkit.errors.running import ExpectationUnmet
from ebmkit.language.plan import Plan
from ebmkit.language.sections import Expectation


def is_met(claim: Expectation, value: float) -> bool:
    """Whether a value lies strictly within the bounds."""
    return (claim.below is None or value < claim.below) and (claim.above is None or value > claim.above)


def claim_in_words(claim: Expectation) -> str:
    """The claim in words: `below 0.02`."""
    below = [f"below {claim.below:g}"] if claim.below is not None else []
    above = [f"above {claim.above:g}"] if claim.above is not None else []
    return " and ".join(above + below)


def unmet(plan: Plan, results: dict[str, float]) -> list[ExpectationUnmet]:
    """The claims that do not hold, each at its line."""
    return [
        ExpectationUnmet(
            f"{claim.metric} is {results[claim.metric]:.6g}, expected {claim_in_words(claim)}",
            plan.place(("expect", index)),
            help="all results were saved; '--unset expect' runs without the claims",
        )
        for index, claim in enumerate(plan.spec.expect)
        if not is_met(claim, results[claim.metric])
    ]
