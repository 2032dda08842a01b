"""Every component against the laws of its kind."""

import pytest
from ebmkit_bayes import (
    Dirichlet,
    Diverged,
    EightSchools,
    EightSchoolsCentred,
    Estimates,
    LogisticRegression,
    ReferenceError,
)

from ebmkit.testing import trials

COMPONENTS = [
    EightSchools(),
    EightSchoolsCentred(),
    LogisticRegression(),
    LogisticRegression(prior_scale=0.5),
    Dirichlet(),
    Dirichlet(concentration=(0.5, 3.0)),
    Estimates(),
    Diverged(),
    ReferenceError(),
]


@pytest.mark.parametrize("trial", trials(COMPONENTS, most=1), ids=str)
def test_law(trial):
    trial.run()
