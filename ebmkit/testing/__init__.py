"""Laws that every component of a kind must satisfy, for authors of components.

    from ebmkit.testing import check_component

    check_component(MySampler)                    # raises with every law that it breaks
    check_component(MyData(path="points.npz"))    # an instance, if the class alone is not sufficient
    check_component(MySampler, partners=[MyRBM()])    # a model to run it on, if no other one fits
    check_component(MySampler, expected_failures={"keeps_the_target": "biased by design"})

`trials` gives the same as cases for pytest, `laws_of` the laws of a kind. `tracked_run` is what a tracker opens, for
tests of what it records.
"""

from ebmkit.testing.law import ExpectedFailure, Inapplicable
from ebmkit.testing.laws import laws_of
from ebmkit.testing.report import Report
from ebmkit.testing.tracked import tracked_run
from ebmkit.testing.trial import Broken, HeldAfterAll, Trial, Unexamined, check_component, examine, trials

__all__ = [
    "Broken",
    "ExpectedFailure",
    "HeldAfterAll",
    "Inapplicable",
    "Report",
    "Trial",
    "Unexamined",
    "check_component",
    "examine",
    "laws_of",
    "tracked_run",
    "trials",
]
