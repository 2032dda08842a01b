"""Untrusted text is shown and steers nothing, wherever it is shown."""

import json
import re

import pytest

from ebmkit.errors.base import EbmkitError
from ebmkit.errors.printable import printable
from ebmkit.errors.render import render
from ebmkit.errors.schema import UnknownParameter
from ebmkit.errors.source import Place, Source
from ebmkit.language.yaml_writer import yaml_text
from tests.cli.typed import ebmkit

ESCAPES = {
    "\x1b[2J": r"\x1b[2J",
    "\x9b31m": r"\x9b31m",  # the same in one character
    "\x07\x08\r": r"\x07\x08\r",
    "\u202eabc": r"\u202eabc",  # what follows would run backwards
    "\u2028": r"\u2028",
    "\udcff": r"\udcff",  # of a file name that is not UTF-8
    "x\ud83d": r"x\ud83d",
    "\U000e0041": r"\U000e0041",  # invisible
    "é 字 😀 \\x1b": "é 字 😀 \\x1b",
}


@pytest.mark.parametrize("text", ESCAPES, ids=ascii)
def test_escapes_are_shown(text):
    shown = printable(text)
    assert shown == ESCAPES[text]
    assert shown.isprintable()
    shown.encode()
    assert printable(shown) == shown


def test_line_ends_stay_where_lines_are_allowed():
    assert printable("a\nb\tc") == "a\nb\\tc"
    assert printable("a\nb\tc", "") == r"a\nb\tc"
    assert printable("a\nb\tc", "\t") == "a\\nb\tc"


@pytest.mark.parametrize("form", ["text", "github", "json"])
def test_every_form_of_an_error_shows_them(form):
    evil = "".join(ESCAPES) + "\nerror[E999]: forged"
    source = Source(f"{evil}.yaml", f"a\tb{evil}c")
    place = Place(source, 1, 4, len(evil))
    shown = render([UnknownParameter(evil, place, label=evil, help=evil, other=place, other_label=evil)], form)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown)
    assert "\nerror[E999]" not in shown
    if form == "json":
        assert json.loads(shown)[0]["place"]["file"] == source.name


def test_the_mark_is_below_what_is_marked():
    """An escape is longer than the character that it shows."""
    place = Place(Source("x", "\x1b\x1b: \x1bab"), 1, 5, 2)
    lines = render([UnknownParameter("m", place)], "text").splitlines()
    assert lines[2] == r"1 | \x1b\x1b: \x1bab"
    assert lines[3] == "  |           ^^^^^"


def test_a_comment_stays_a_comment():
    text = yaml_text({"a": 1}, {("a",): "x\n\x1b\udcff"})
    assert text == "a: 1  # x\\n\\x1b\\udcff\n"


def test_an_error_can_be_printed_whatever_it_quotes():
    assert str(EbmkitError("\udcff\x1b")) == r"\udcff\x1b"


def test_usage_errors_show_them_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "\x1b[2J\udcff"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    result = ebmkit("report", "runs", status=2)
    assert r"the newest run in it is runs/\x1b[2J\udcff" in result.output
    assert "\x1b" not in result.output
