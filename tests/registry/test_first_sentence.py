"""Summaries that are read from files are those of the docstrings."""

import inspect

import pytest

from ebmkit.api import Sampler, component
from ebmkit.registry.builtin import ebmkit_components
from ebmkit.registry.first_sentence import first_sentence
from ebmkit.registry.registry import Entry

FILE = '''\
"""A module."""

@component("other", revision=2)
class Other:
    """Another one."""


@component("this", revision=2)
class This(Sampler):
    """The first sentence:
    it goes on here.

    And this is the second.
    """


@component("escaped")
class Escaped:
    """A backslash \\\\ is for Python to read."""


@component("silent")
class Silent:
    x: int = 0
    """No docstring."""
'''


@pytest.mark.parametrize("offer", ebmkit_components(), ids=lambda offer: f"{offer.kind}-{offer.name}")
def test_every_built_in_is_summarised_by_its_docstring(offer):
    assert offer.summarise() == inspect.getdoc(offer.load()).split("\n\n")[0].replace("\n", " ")


def test_the_class_is_found_by_its_name(tmp_path):
    (tmp_path / "file.py").write_text(FILE)
    assert first_sentence(tmp_path / "file.py", "this") == "The first sentence: it goes on here."
    assert first_sentence(tmp_path / "file.py", "other") == "Another one."


@pytest.mark.parametrize("name", ["escaped", "silent", "absent"])
def test_what_only_python_can_read_is_left_to_it(tmp_path, name):
    (tmp_path / "file.py").write_text(FILE)
    assert first_sentence(tmp_path / "file.py", name) is None


def test_without_sources_the_class_is_asked(tmp_path):
    @component("x")
    class Documented(Sampler):
        """From the class.

        More.
        """

    entry = Entry("sampler", "x", "ebmkit", lambda: Documented, lambda: first_sentence(tmp_path / "absent.py", "x"))
    assert entry.summary == "From the class."
