"""Text to tree: bounded YAML in which every key and value knows its line and column.

ruamel's parser gives events with marks; they are composed here into plain Python types, and every bound is checked
while reading, before anything large can exist.
"""

from __future__ import annotations

import math
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml import events as ev
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import Scanner

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.text import (
    Ambiguous,
    BadAlias,
    BadKey,
    BadSyntax,
    DirectiveRefused,
    DuplicateKey,
    NotASpec,
    NotText,
    TagRefused,
    TooLarge,
    Unreadable,
)
from ebmkit.place import Place, Source

MAX_BYTES = 256 * 1024
MAX_DEPTH = 64
MAX_NODES = 20_000

Scalar: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True)
class Node:
    """A value, where it stands, and where its key stands."""

    value: Scalar | list[Node] | dict[str, Node]
    place: Place
    key: Place | None = None
    #: How many values this one holds and how deep they lie, itself included, with aliases expanded.
    size: int = field(default=1, compare=False)
    depth: int = field(default=1, compare=False)

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {name: child.plain() for name, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value

    def follow(self, path: Sequence[str | int]) -> Node:
        """The node at the end of a path, or the last one on the way; steps that lead nowhere are passed over."""
        node = self
        for key in path:
            children = node.value
            if isinstance(children, dict):
                node = children.get(str(key), node)
            elif isinstance(children, list) and key in range(len(children)):
                node = children[int(key)]
        return node

    @property
    def head(self) -> Place:
        """Where a whole value is best pointed at: a component at its name, a block of lines at its key."""
        if isinstance(self.value, dict):
            if "use" in self.value:
                return self.value["use"].place
            if self.key:
                return self.key
        return self.place


def read(path: str) -> Source:
    """The text of a file, refused unless it is a regular UTF-8 file within bounds; `-` is standard input."""
    if path == "-":
        return _decode("<stdin>", sys.stdin.buffer.read(MAX_BYTES + 1))
    try:
        # Non-blocking, because opening a pipe that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unreadable(f"cannot read {path!r}: {reason}", _start(path)) from error
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise Unreadable(f"cannot read {path!r}: it is {what}", _start(path))
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > MAX_BYTES:
            raise TooLarge(f"{path!r} has {status.st_size:,} bytes; a spec has at most {MAX_BYTES:,}", _start(path))
        return _decode(path, file.read(MAX_BYTES + 1))


def parse(source: Source, *, start: int = 0) -> Node:
    """The tree of a text, from character `start` on (a flag's value stands behind its path).

    Raises `Mistakes` with all that is wrong, or with the first thing that stops the reading.
    """
    if "\ufeff" in source.text:  # invisible, and ruamel leaves it out when it counts columns
        place = _behind(source, source.text.partition("\ufeff")[0])
        raise Mistakes([NotText("a byte order mark in the middle of the text", place, help="delete the character")])
    composer = _Composer(source, start)
    try:
        root = composer.compose_document()
    except EbmkitError as mistake:
        raise Mistakes([*composer.mistakes, mistake]) from mistake
    except MarkedYAMLError as error:
        raise Mistakes([*composer.mistakes, _syntax(source, error)]) from error
    except ReaderError as error:
        raise Mistakes([_control_character(source, error)]) from error
    if composer.mistakes:
        raise Mistakes(composer.mistakes)
    return root


def _decode(name: str, raw: bytes) -> Source:
    if len(raw) > MAX_BYTES:
        raise TooLarge(f"{name!r} has more than {MAX_BYTES:,} bytes", _start(name))
    try:
        return Source(name, raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig")
        place = _behind(Source(name, raw.decode("utf-8-sig", "replace")), before)
        raise NotText(f"byte 0x{raw[error.start]:02x} is not UTF-8", place, help="save the file as UTF-8") from error


def _start(name: str) -> Place:
    return Place(Source(name, ""), 1, 1)


def _syntax(source: Source, error: MarkedYAMLError) -> BadSyntax:
    mark = error.problem_mark or error.context_mark
    place = Place(source, mark.line + 1, mark.column + 1) if mark else Place(source, 1, 1)
    problem = (error.problem or "not well-formed YAML").split("\n")[0]
    return BadSyntax(problem, place, label=(error.context or "").split("\n")[0])


def _control_character(source: Source, error: ReaderError) -> NotText:
    shown = error.character if isinstance(error.character, int) else ord(error.character)
    place = _behind(source, source.text[: error.position])
    return NotText(f"character U+{shown:04X} is not allowed in YAML", place)


def _behind(source: Source, before: str) -> Place:
    lines = Source("", before).lines
    return Place(source, len(lines), len(lines[-1]) + 1)


class _BoundedScanner(Scanner):
    """Stops at a nesting that nobody writes. The composer would notice too late: the scanner reads ahead."""

    def _check_depth(self) -> None:
        if len(self.flow_context) + len(self.indents) > MAX_DEPTH:
            raise _TooDeep(self.reader.get_mark())

    def fetch_flow_collection_start(self, TokenClass: Any, to_push: str) -> None:
        super().fetch_flow_collection_start(TokenClass, to_push)
        self._check_depth()

    def add_indent(self, column: int) -> bool:
        added: bool = super().add_indent(column)
        self._check_depth()
        return added

    def fetch_directive(self) -> None:
        raise _Directive(self.reader.get_mark())

    def scan_flow_scalar_non_spaces(self, double: Any, start_mark: Any) -> Any:
        try:
            return super().scan_flow_scalar_non_spaces(double, start_mark)
        except (ValueError, OverflowError) as error:  # "\UFFFFFFFF" goes straight into chr()
            problem = "no character has this number"
            raise MarkedYAMLError("in a quoted string", start_mark, problem, self.reader.get_mark()) from error


@dataclass
class _TooDeep(Exception):
    mark: Any


@dataclass
class _Directive(Exception):
    mark: Any


class _Composer:
    """Events to nodes, counting as it goes. Mistakes that leave the structure intact are collected."""

    def __init__(self, source: Source, start: int) -> None:
        self.source = source
        self.mistakes: list[EbmkitError] = []
        self.count = 0
        self.depth = 0
        self.anchors: dict[str, Node | None] = {}  # None while the anchored value is still being read
        yaml = YAML(typ="safe", pure=True)
        yaml.Scanner = _BoundedScanner
        self.events: Iterator[Any] = yaml.parse(" " * start + source.text[start:])

    def next(self) -> Any:
        try:
            return next(self.events)
        except _TooDeep as stop:
            raise TooLarge(f"nested more than {MAX_DEPTH} levels deep", self.at(stop.mark)) from stop
        except _Directive as stop:
            raise DirectiveRefused(
                "directives are not part of the spec language", self.at(stop.mark), help="delete this line"
            ) from stop

    def compose_document(self) -> Node:
        event = self.next()  # stream start
        event = self.next()
        if isinstance(event, ev.StreamEndEvent):
            raise NotASpec("the file is empty", Place(self.source, 1, 1), help="a spec begins with 'ebmkit: 1'")
        root = self.compose(self.next())
        self.next()  # document end
        event = self.next()
        if not isinstance(event, ev.StreamEndEvent):
            raise NotASpec("a second document begins here", self.at(event.start_mark), help="one file holds one spec")
        return root

    def compose(self, event: Any) -> Node:
        if isinstance(event, ev.AliasEvent):
            return self.alias(event)
        place = self.at(event.start_mark, event.end_mark)
        if event.ctag is not None and str(event.ctag) not in ("None", ""):
            self.mistakes.append(self.tagged(event, place))
        if event.anchor:
            self.anchors[event.anchor] = None
        self.grow(1, place)
        self.depth += 1
        if isinstance(event, ev.ScalarEvent):
            node = Node(self.scalar(event, place), place)
        elif isinstance(event, ev.SequenceStartEvent):
            node = self.sequence(place)
        else:
            node = self.mapping(place)
        self.depth -= 1
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def tagged(self, event: Any, place: Place) -> TagRefused:
        written = _TAG.search(self.source.line(place.line), place.column - 1)
        if written:
            place = replace(place, column=written.start() + 1, length=len(written[0]))
        name = written[0] if written else event.ctag
        return TagRefused(f"tag '{name}' is not part of the spec language", place, help="delete the tag")

    def alias(self, event: Any) -> Node:
        place = self.at(event.start_mark, event.end_mark)
        if event.anchor not in self.anchors:
            raise BadAlias(f"no '&{event.anchor}' stands before this alias", place)
        target = self.anchors[event.anchor]
        if target is None:
            raise BadAlias(f"'*{event.anchor}' stands inside '&{event.anchor}' itself", place)
        self.grow(target.size, place)
        if self.depth + target.depth > MAX_DEPTH:
            raise TooLarge(f"nested more than {MAX_DEPTH} levels deep, counting what aliases repeat", place)
        return target

    def grow(self, by: int, place: Place) -> None:
        self.count += by
        if self.count > MAX_NODES:
            raise TooLarge(f"more than {MAX_NODES:,} values, counting what aliases repeat", place)

    def sequence(self, place: Place) -> Node:
        items: list[Node] = []
        while not isinstance(event := self.next(), ev.SequenceEndEvent):
            item = self.compose(event)
            items.append(replace(item, place=self.gap(event)) if _left_empty(event) else item)
        whole = self.span(place, event.end_mark)
        depth = 1 + max((item.depth for item in items), default=0)
        return Node(items, whole, size=1 + sum(item.size for item in items), depth=depth)

    def mapping(self, place: Place) -> Node:
        entries: dict[str, Node] = {}
        size = depth = 1
        while not isinstance(event := self.next(), ev.MappingEndEvent):
            key = self.compose(event)
            following = self.next()
            child = self.compose(following)
            if _left_empty(following):
                child = replace(child, place=key.place)
            size += key.size + child.size
            depth = max(depth, 1 + child.depth)
            name = key.value
            if not isinstance(name, str) or (name == "<<" and getattr(event, "style", None) is None):
                self.mistakes.append(self.bad_key(key))
            elif name in entries:
                first = entries[name].key
                self.mistakes.append(
                    DuplicateKey(
                        f"key '{name}' stands twice", key.place, label="again", other=first, other_label="first here"
                    )
                )
            else:
                entries[name] = replace(child, key=key.place)
        return Node(entries, self.span(place, event.end_mark), size=size, depth=depth)

    def bad_key(self, key: Node) -> BadKey:
        if key.value == "<<":
            return BadKey("merge keys are not part of the spec language", key.place, help="use 'extends:' or 'parts:'")
        if isinstance(key.value, (dict, list)):
            return BadKey("a key must be a name, not a collection", key.place)
        return BadKey(
            f"a key must be a name, not {show(key.value)}", key.place, help="quote it if it is meant as a name"
        )

    def scalar(self, event: Any, place: Place) -> Scalar:
        if event.style is not None:  # quoted or block text is always a string
            return self.quoted(event.value, place)
        try:
            return plain_scalar(event.value)
        except ValueError as error:
            self.mistakes.append(Ambiguous(str(error), place, help=f"write it plainly, or quote it: '{event.value}'"))
            return str(event.value)

    def quoted(self, value: str, place: Place) -> str:
        """Text in which JSON's pairs of escapes, such as "\\ud83d\\ude00", have become one character each."""
        if not _SURROGATE.search(value):
            return value
        try:
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            self.mistakes.append(NotText("half of a surrogate pair is not a character", place))
            return ""

    def at(self, start: Any, end: Any = None) -> Place:
        length = end.column - start.column if end is not None and end.line == start.line else 1
        return Place(self.source, start.line + 1, start.column + 1, max(length, 1))

    def gap(self, event: Any) -> Place:
        """Where nothing was written. The parser only noticed at the next word, which may be lines away."""
        line, before = event.start_mark.line + 1, self.source.line(event.start_mark.line + 1)
        before = before[: event.start_mark.column]
        while not before.strip() and line > 1:
            line -= 1
            before = self.source.line(line)
        return Place(self.source, line, max(len(before.rstrip()), 1))

    def span(self, start: Place, end: Any) -> Place:
        """A collection from its start to its end if that is on the same line, else the rest of its first line."""
        last = end.column + 1 if end.line + 1 == start.line else len(self.source.line(start.line).rstrip()) + 1
        return replace(start, length=max(last - start.column, 1))


def _left_empty(event: Any) -> bool:
    return isinstance(event, ev.ScalarEvent) and event.start_mark.index == event.end_mark.index


_TAG = re.compile(r"![^\s,\[\]{}]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?\Z")
_UNDERSCORED = re.compile(r"[-+]?[0-9][0-9_.eE+-]*\Z")
_OTHER_BASE = re.compile(r"[-+]?0[xob][0-9a-fA-F_]+\Z", re.IGNORECASE)


def plain_scalar(text: str) -> Scalar:
    """What an unquoted word means in YAML 1.2; ValueError where readers disagree or the number does not fit."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    if _INT.match(text):
        digits = text.lstrip("+-")
        if len(digits) > 1 and digits.startswith("0"):
            raise ValueError(f"'{text}' is decimal to some readers and octal to others")
        if len(digits) > 19 or not -(2**63) <= int(text) < 2**63:
            raise ValueError(f"'{text}' does not fit 64 bits")
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        if math.isinf(number):
            raise ValueError(f"'{text}' is too large for a number")
        return number
    if _DATE.match(text):
        raise ValueError(f"'{text}' is a date to some readers and a string to others")
    if ("_" in text and _UNDERSCORED.match(text)) or _OTHER_BASE.match(text):
        raise ValueError(f"'{text}' is a number to some readers and a string to others")
    return text


def show(value: Any) -> str:
    """A value as YAML would write it, short, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        inside = ", ".join(show(item) for item in value)
        return f"[{inside}]" if len(inside) <= 40 else "a list"
    text = repr(value)
    return text if len(text) <= 40 else text[:36] + "..." + text[-1]
