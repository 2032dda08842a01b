"""Translation of ruamel's syntax errors into messages that do not require knowledge of the YAML grammar."""

from __future__ import annotations

import re
from typing import NamedTuple

from ruamel.yaml.error import MarkedYAMLError

from ebmkit.errors.source import Place, Source
from ebmkit.errors.text import BadSyntax


class _Words(NamedTuple):
    """A pattern for ruamel's message, our message, and what to do."""

    pattern: str
    message: str
    help: str = ""
    #: The mistake is reported where the construct began, not where ruamel noticed it.
    at_start: bool = False


#: The first matching pattern is used.
_WORDS = [
    _Words(r"found character '\\t'", "a tab cannot be used for indentation", "use spaces"),
    _Words(r"found character '(.)' that cannot", r"a value cannot begin with '\1'", "quote the value"),
    _Words(
        "mapping values are not allowed",
        "a ':' is not allowed here",
        "if it is part of the value, quote the value; otherwise check the indentation",
    ),
    _Words(
        "could not find expected ':'",
        "this key is not followed by ': '",
        "put a space after the colon",
        at_start=True,
    ),
    _Words(r"expected ',' or '([\]}])', but got '<stream end>'", r"this is never closed by '\1'", at_start=True),
    _Words(r"expected ',' or '([\]}])'", r"a ',' or the closing '\1' is missing before this"),
    _Words("expected <block end>, but found '-'", "a list item where a key is expected", "indent it below its key"),
    _Words(r"expected <block end>, but found '([\]}])'", r"'\1' does not close anything"),
    _Words("expected <block end>, but found '<block", "the indentation of this line matches no line above", "align it"),
    _Words("expected <block end>", "unexpected text after a complete value", "quote the whole value"),
    _Words("found unexpected end of stream", "this quoted string is never closed", at_start=True),
    _Words(
        "found unknown escape character '(.)'",
        r"'\\\1' is not an escape sequence",
        "use single quotes, or double the backslash",
    ),
    _Words("expected the node content", "a value or a closing bracket is missing here"),
    _Words("expected alphabetic or numeric", "an anchor or alias needs a name", "quote the value if it is neither"),
]


def bad_syntax(source: Source, error: MarkedYAMLError) -> BadSyntax:
    """The mistake with its place and, if something is missing inside brackets, the place of the opening bracket."""
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
