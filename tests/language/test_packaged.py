"""Which names lead to packaged specs."""

import pytest

from ebmkit.language import packaged


def test_every_listed_name_is_found():
    names = packaged.names()
    assert {"quickstart"} <= set(names)
    for name in names:
        assert packaged.find(name) == packaged.folder() / f"{name}.yaml"


UP = ["..", "../specs/quickstart", "gallery/../quickstart", "..\\specs\\quickstart"]
ODD = ["", ".", "/", "./quickstart", "gallery//banana", "quickstart/", "quickstart.yaml", "gallery", "a\0b"]
LONG = ["x" * 5000, "/".join("x" * 3000)]


@pytest.mark.parametrize("name", [*UP, *ODD, *LONG], ids=lambda name: repr(name[:30]))
def test_no_other_name_is(name):
    assert packaged.find(name) is None


def test_not_even_the_path_of_one():
    assert packaged.find(str(packaged.folder() / "quickstart")) is None
