"""What ruamel says about text that is not YAML, in words for people who do not know its grammar."""

from __future__ import annotations

import re
from typing import NamedTuple

from ruamel.yaml.error import MarkedYAMLError

from ebmkit.errors.source import Place, Source
from ebmkit.errors.text import BadSyntax


class _Words(NamedTuple):
    """What ruamel says, what we say instead, and what to do about it."""

    pattern: str
    message: str
    help: str = ""
    #: The mistake is where something began, not where ruamel noticed.
    at_start: bool = False


#: The first that is found counts.
_WORDS = [
    _Words(r"found character '\\t'", "a tab cannot be used for indentation", "use spaces"),
    _Words(r"found character '(.)' that cannot", r"a value cannot begin with '\1'", "quote the value"),
    _Words(
        "mapping values are not allowed",
        "a ':' does not belong here",
        "if it is part of the value, quote the value; else look at the indentation",
    ),
    _Words(
        "could not find expected ':'", "a key without ': ' behind it", "a colon needs a space behind it", at_start=True
    ),
    _Words(r"expected ',' or '([\]}])', but got '<stream end>'", r"this is never closed by '\1'", at_start=True),
    _Words(r"expected ',' or '([\]}])'", r"a ',' or the closing '\1' is missing before this"),
    _Words("expected <block end>, but found '-'", "a list item where a key is expected", "indent it below its key"),
    _Words(r"expected <block end>, but found '([\]}])'", r"nothing is open that '\1' could close"),
    _Words("expected <block end>, but found '<block", "this line is indented like none above it", "align it"),
    _Words("expected <block end>", "this does not belong behind a complete value", "quote the whole value"),
    _Words("found unexpected end of stream", "this quoted string is never closed", at_start=True),
    _Words(
        "found unknown escape character '(.)'",
        r"'\\\1' means nothing in a quoted string",
        "use single quotes, or double the backslash",
    ),
    _Words("expected the node content", "a value or a closing bracket is missing here"),
    _Words("expected alphabetic or numeric", "an anchor or alias needs a name", "quote the value if none is meant"),
]


def in_our_words(source: Source, error: MarkedYAMLError) -> BadSyntax:
    """The mistake at its place and, where something is missing before a bracket closes, where that was opened."""
    problem = (error.problem or "not well-formed YAML").split("\n")[0]
    noticed, started = _place(source, error.problem_mark), _place(source, error.context_mark)
    for words in _WORDS:
        found = re.search(words.pattern, problem)
        if found:
            message = found.expand(words.message)
            if words.at_start:
                return BadSyntax(message, started or noticed, help=words.help)
            opened = started if "flow" in (error.context or "") and started != noticed else None
            return BadSyntax(message, noticed, help=words.help, other=opened, other_label="opened here")
    return BadSyntax(problem, noticed or started or Place(source, 1, 1))


def _place(source: Source, mark: object) -> Place | None:
    return Place(source, mark.line + 1, mark.column + 1) if mark else None  # type: ignore[attr-defined]
