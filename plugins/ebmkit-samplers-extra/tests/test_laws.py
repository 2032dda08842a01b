"""The laws of their kinds, which every sampler and model obeys."""

import pytest
from ebmkit_samplers_extra import SGHMC, SVGD, Barker, BayesianRegression, EllipticalSlice, Karras

from ebmkit.testing import trials

INPUTS = ((1.0, 0.5), (1.0, -1.0), (0.3, 2.0))
POSTERIOR = BayesianRegression(inputs=INPUTS, targets=(0.3, 1.2, -0.5), noise_std=0.7, prior_std=1.5, correlation=0.4)
LINE = BayesianRegression(inputs=((1.0,), (2.0,)), targets=(0.3, 1.2), prior_mean=-1.0)

VARIANTS = [Barker(step_size=1.2), SGHMC(friction=1.0), SVGD(bandwidth=0.5)]


@pytest.mark.parametrize("trial", trials([Barker(), SGHMC(), SVGD(), *VARIANTS], most=1), ids=str)
def test_law(trial):
    trial.run()


@pytest.mark.parametrize("trial", trials([POSTERIOR, LINE]), ids=str)
def test_law_of_the_model(trial):
    trial.run()


@pytest.mark.parametrize("trial", trials([EllipticalSlice(), SGHMC(terms=2)], partners=[POSTERIOR], most=1), ids=str)
def test_law_of_what_needs_an_ability(trial):
    """In one case, because the posterior fixes the shape of states."""
    trial.run()


@pytest.mark.parametrize("trial", trials([Karras(), Karras(rho=1.0, count=2)]), ids=str)
def test_law_of_the_schedule(trial):
    trial.run()
