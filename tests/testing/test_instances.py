"""How a law gets hold of something to try: instances from classes, and the shapes that they take."""

from typing import Annotated

import pytest

from ebmkit.api import Bregman, Gt, Objective, Tracker, component
from ebmkit.components.bregman.logistic import Logistic
from ebmkit.components.data.csv import Csv
from ebmkit.components.models.conv import Conv
from ebmkit.components.models.gaussian import Gaussian
from ebmkit.components.models.mlp import MLP
from ebmkit.components.objectives.mle import MLE
from ebmkit.components.samplers.metropolis import Metropolis
from ebmkit.components.samplers.mixed_mala import MixedMALA
from ebmkit.errors.running import EnvironmentLacks
from ebmkit.testing import Inapplicable, Trial
from ebmkit.testing.case import EVENTS, cases_of
from ebmkit.testing.example import from_example, instance
from ebmkit.testing.laws.every_kind import is_a_value
from ebmkit.testing.laws.tracker import writes_next_to_the_run
from ebmkit.testing.partner import model_for


@component("weighted")
class Weighted(Bregman):
    """A parameter without a default.

    Example: objective: {use: bregman, generator: {use: my_plugin.weighted, weight: 3.0}}
    """

    weight: Annotated[float, Gt(0)]

    def psi(self, u):
        return self.weight * u.square()


@component("without_example")
class WithoutExample(Weighted):
    """Nothing to go by."""


@component("misleading")
class Misleading(Weighted):
    """The example of another.

    Example: generator: logistic
    """


def test_defaults_are_enough():
    assert instance(Logistic) == Logistic()


def test_a_parameter_without_default_is_taken_from_the_example_wherever_it_stands():
    assert instance(Weighted) == Weighted(weight=3.0)


def test_components_inside_an_example_are_made_too():
    made = from_example(MLE)
    assert isinstance(made.sampler, MixedMALA)
    assert made.sampler.steps == 40


def test_an_example_is_checked_as_a_spec_is():
    @component("weighted")
    class Negative(Weighted):
        __doc__ = Weighted.__doc__.replace("3.0", "-3.0")

    with pytest.raises(ValueError, match="greater than 0"):
        instance(Negative)


@pytest.mark.parametrize(
    ("cls", "says"), [(WithoutExample, "needs a line 'Example"), (Misleading, "must use 'misleading'")]
)
def test_what_cannot_be_made_is_told(cls, says):
    with pytest.raises(ValueError, match=says):
        instance(cls)


@pytest.mark.parametrize(
    ("made", "events"),
    [
        (MLP(), list(EVENTS)),
        (Gaussian(mean=(0.0,) * 6, shape=(2, 3)), [(2, 3)]),
        (Conv(), [(1, 4, 4)]),
        (Conv(preset="thesis_a"), [(1, 28, 28)]),
        (Metropolis(center=(0.0, 1.0)), [(2,)]),
        (Logistic(), [()]),
    ],
)
def test_a_law_is_tried_on_the_shapes_that_fit(made, events):
    assert [case.event for case in cases_of(made)] == events


def test_data_whose_file_is_missing_are_skipped_by_name():
    with pytest.raises(Inapplicable, match=r"'nowhere\.csv' that it reads is missing"):
        Trial(Csv(path="nowhere.csv"), is_a_value).run()


def test_what_is_not_installed_is_no_failure():
    @component("far_away")
    class FarAway(Tracker):
        def open(self, run):
            raise EnvironmentLacks("tracker 'far_away' needs the package 'distance'")

    with pytest.raises(Inapplicable, match="needs the package 'distance'"):
        Trial(FarAway(), writes_next_to_the_run).run()


def test_a_partner_offers_what_is_needed():
    class Demanding(Objective):
        needs = frozenset({"sample_exact", "noised"})

        def loss(self, model, batch, context): ...

    model, event = model_for(Demanding(), (10,))
    assert (model.component_name, event) == ("gaussian", (10,))
    Demanding.needs = frozenset({"wings"})
    with pytest.raises(Inapplicable, match="no registered model and none of its plugin offers wings"):
        model_for(Demanding(), (2,))
