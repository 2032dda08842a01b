"""Where states live."""

from typing import get_args

from ebmkit.api import Space
from ebmkit.registry.loading import Plugins
from ebmkit.testing.example import instance


def test_every_space_is_that_of_some_model():
    """A space that no model has is one that no spec can reach."""
    models = [instance(offer.load()) for offer in Plugins().builtin if offer.kind == "model"]
    assert {model.traits().space for model in models} == set(get_args(Space))
