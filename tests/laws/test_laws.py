"""Everything registered before every law of its kind, as it is by default and as its example writes it.

A new component is tested by registering it.
"""

import pytest

from ebmkit.plugins import Plugins
from ebmkit.registry import Registry
from ebmkit.testing import trials
from ebmkit.testing.case import cases_of
from ebmkit.testing.example import from_example, instance

REGISTRY = Registry(Plugins())
COMPONENTS = [instance(entry.cls, REGISTRY) for entry in REGISTRY.entries()]
EXAMPLES = [example for made in COMPONENTS if (example := from_example(type(made), REGISTRY)) != made]


@pytest.mark.parametrize("trial", trials(COMPONENTS), ids=str)
def test_law(trial):
    trial.run()


@pytest.mark.parametrize("trial", trials(EXAMPLES), ids=str)
def test_law_on_the_example(trial):
    trial.run()


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda c: f"{c.component_kind}/{c.component_name}")
def test_there_is_a_case(component):
    assert cases_of(component)
