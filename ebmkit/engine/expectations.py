"""The claims of a spec, compared with the results."""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.engine.failure import SAMPLES, Measured
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


def unmet(plan: Plan, measured: Measured) -> list[ExpectationUnmet]:
    """The claims that do not hold, each at its line. A claim about a value that could not be measured does not hold."""
    return list(_unmet(plan, measured))


def _unmet(plan: Plan, measured: Measured) -> Iterator[ExpectationUnmet]:
    missing = {name: failure for failure in measured.failed for name in failure.results}
    samples = next((failure for failure in measured.failed if failure.what == SAMPLES), None)
    for index, claim in enumerate(plan.spec.expect):
        place, expected = plan.place(("expect", index)), f"expected {claim_in_words(claim)}"
        if failure := missing.get(claim.metric) or (samples if claim.metric not in measured.results else None):
            yield ExpectationUnmet(f"{claim.metric} was not measured, because {failure.what} failed; {expected}", place)
        elif not is_met(claim, value := measured.results[claim.metric]):
            yield ExpectationUnmet(
                f"{claim.metric} is {value:.6g}, {expected}",
                place,
                help="all results were saved; '--unset expect' runs without the claims",
            )
