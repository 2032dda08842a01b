"""What the verbs show of a component is plain data, and what no spec could write is refused."""

import json

import pytest

from ebmkit.registry.builtin import ebmkit_components
from ebmkit.registry.description import describe
from ebmkit.registry.parameter_check import parameter_trouble


@pytest.mark.parametrize("offer", ebmkit_components(), ids=lambda offer: f"{offer.kind}-{offer.name}")
def test_built_ins_pass_what_is_asked_of_plugins(offer):
    cls = offer.load()
    assert parameter_trouble(cls) == ""
    description = describe(cls)
    assert json.loads(json.dumps(description.schema)) == description.schema
    assert description.page.summary
    assert [parameter.name for parameter in description.page.parameters] == list(description.schema["properties"])
