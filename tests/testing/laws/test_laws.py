"""Everything registered before every law of its kind, as it is by default and as its example writes it.

A new component is tested by registering it: quickly on one of the shapes that it takes, not the same for each law, and
in `make test-long` on all of them.
"""

import pytest

from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry
from ebmkit.testing import trials
from ebmkit.testing.case import cases_of
from ebmkit.testing.example import from_example, instance

REGISTRY = Registry(Plugins())
COMPONENTS = [instance(entry.cls, REGISTRY) for entry in REGISTRY.entries()]
EXAMPLES = [example for made in COMPONENTS if (example := from_example(type(made), REGISTRY)) != made]
#: What takes seconds before each law as it is by default. Quickly it is tried as its example has it, which is smaller.
COSTLY = {"noise/flow", "noise/generator", "noise/parzen", "objective/flow_ce"}
#: Kinds whose examples differ in numbers from the default, and are tried on all shapes by `make test-long`.
LATER = ("model", "sampler", "objective", "metric")


def name_of(component):
    return f"{component.component_kind}/{component.component_name}"


@pytest.mark.parametrize("trial", trials([each for each in COMPONENTS if name_of(each) not in COSTLY], most=1), ids=str)
def test_law(trial):
    trial.run()


SOONER = [each for each in EXAMPLES if each.component_kind not in LATER or name_of(each) in COSTLY]


@pytest.mark.parametrize("trial", trials(SOONER, most=1), ids=str)
def test_law_on_the_example(trial):
    trial.run()


@pytest.mark.long
@pytest.mark.parametrize("trial", trials([*COMPONENTS, *EXAMPLES]), ids=str)
def test_law_on_every_shape(trial):
    trial.run()


@pytest.mark.parametrize("component", COMPONENTS, ids=name_of)
def test_there_is_a_case(component):
    assert cases_of(component)


def test_what_is_costly_has_an_example_that_is_tried():
    assert {name_of(each) for each in EXAMPLES} >= COSTLY
