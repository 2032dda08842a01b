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


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("bregman", "cauchy", "unknown Bregman generator 'cauchy'"),
        ("noise", "langevin", "'langevin' is a sampler, not a noise distribution"),
        ("data", "langevin", "'langevin' is a sampler, not a data set"),
    ],
)
def test_a_kind_is_called_by_a_noun(kind, name, message):
    with pytest.raises(EbmkitError) as caught:
        Registry(Plugins()).find(kind, name)
    assert caught.value.message == message
    assert caught.value.help == f"'ebmkit list {kind}' shows all of them"
