"""Names that are not found are answered."""

import pytest

from ebmkit.errors import EbmkitError
from ebmkit.registry.loading import Plugins
from ebmkit.registry.registry import Registry


def test_a_name_is_suggested_from_its_own_kind():
    with pytest.raises(EbmkitError) as caught:
        Registry(Plugins()).find("bregman", "gaussien")  # a model and a noise are called `gaussian`
    assert caught.value.label == ""


def test_a_component_of_another_kind_is_recognised():
    with pytest.raises(EbmkitError, match="'langevin' is a sampler, not an init"):
        Registry(Plugins()).find("init", "langevin")
