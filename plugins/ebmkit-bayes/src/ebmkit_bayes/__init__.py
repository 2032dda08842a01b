"""Posterior distributions as energies for ebmkit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ebmkit.api import Panel, hookimpl
from ebmkit_bayes.dirichlet import Dirichlet
from ebmkit_bayes.diverged import Diverged
from ebmkit_bayes.eight_schools import EightSchools, EightSchoolsCentred
from ebmkit_bayes.estimates import Estimates
from ebmkit_bayes.intervals import draw_intervals
from ebmkit_bayes.logistic_regression import LogisticRegression
from ebmkit_bayes.posterior import Posterior, Quantities, Reference
from ebmkit_bayes.reference_error import ReferenceError

if TYPE_CHECKING:
    from ebmkit.api import View

__all__ = [
    "Dirichlet",
    "Diverged",
    "EightSchools",
    "EightSchoolsCentred",
    "Estimates",
    "LogisticRegression",
    "Posterior",
    "Quantities",
    "Reference",
    "ReferenceError",
]

#: The version of `ebmkit.api` that this was written for.
EBMKIT_API = 1


@hookimpl
def ebmkit_report_panels(view: View) -> Sequence[Panel]:
    """A figure of posterior intervals, for the models of this package."""
    if isinstance(view.spec.model, Posterior):
        return [Panel("intervals", "Posterior intervals", draw_intervals, wide=True)]
    return []
