"""What is asked of a class before it is registered, and what is not."""

import pytest

from ebmkit.errors import EbmkitError
from ebmkit.registry.loading import Plugins
from tests.planted import GENERATOR

LADDER = '''
from ebmkit.api import Schedule, component, torch

@component("ladder")
class Ladder(Schedule):
    """Three noise levels."""

    count = 3

    def levels(self):
        return torch.tensor([4.0, 2.0, 1.0], dtype=torch.float64)
'''


def test_what_the_kind_declares_may_be_set_plainly(install):
    """`count` by the author, and `conditioning` by the kind itself."""
    install("mine", LADDER)
    (cls,) = Plugins().load("mine").components
    assert (cls.conditioning, cls().count) == ("sigma", 3)


def test_what_the_kind_does_not_declare_needs_an_annotation(install):
    install("mine", LADDER.replace("count = 3", "count = 3\n    factor = 2.0"))
    with pytest.raises(EbmkitError, match="factor has no annotation"):
        Plugins().load("mine")


def test_the_hash_of_a_package_covers_all_its_files_and_their_names(tmp_path):
    from ebmkit.registry.code_files import digest

    module = tmp_path / "__init__.py"
    module.write_text("")
    (tmp_path / "inner.py").write_text("x = 1\n")
    first = digest(module)
    (tmp_path / "inner.py").write_text("x = 2\n")
    second = digest(module)
    (tmp_path / "inner.py").rename(tmp_path / "other.py")
    assert len({first, second, digest(module)}) == 3


def test_a_parameter_without_annotation_is_told(install):
    install("mine", GENERATOR.replace("    def psi", "    eps = 1e-6\n\n    def psi"))
    with pytest.raises(EbmkitError, match="eps has no annotation"):
        Plugins().load("mine")
