"""Composition of ruamel's events into plain values with places. All limits are checked while reading, before anything
large is built."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml import events as ev
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError
from ruamel.yaml.scanner import Scanner

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.source import Place, Source
from ebmkit.errors.text import (
    Ambiguous,
    BadAlias,
    BadKey,
    DirectiveRefused,
    DuplicateKey,
    NotASpec,
    NotText,
    TagRefused,
    TooLarge,
)
from ebmkit.language.text.node import Node
from ebmkit.language.text.scalar import Scalar, plain_scalar, show
from ebmkit.language.text.syntax import bad_syntax

MAX_DEPTH = 64
MAX_NODES = 10_000

_COMMENT = re.compile(r"\s#.*")
_TAG = re.compile(r"![^\s,\[\]{}]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(source: Source, *, start: int = 0, found: list[EbmkitError] | None = None) -> Node:
    """The tree of a text, from character `start` on (the value of a flag comes after its path).

    Raises `Mistakes` with all mistakes, or with the first one that prevents further parsing. Mistakes that leave the
    structure intact are appended to `found`, if given, so that later stages can add theirs.
    """
    if "\ufeff" in source.text:  # invisible, and not counted in ruamel's columns
        place = source.place_after(source.text.partition("\ufeff")[0])
        raise Mistakes([NotText("a byte order mark in the middle of the text", place, help="delete the character")])
    composer = _Composer(source, start)
    try:
        root = composer.compose_document()
    except EbmkitError as mistake:
        raise Mistakes([*composer.mistakes, mistake]) from mistake
    except MarkedYAMLError as error:
        raise Mistakes([*composer.mistakes, bad_syntax(source, error)]) from error
    except ReaderError as error:
        raise Mistakes([_control_character(source, error)]) from error
    if composer.mistakes and found is None:
        raise Mistakes(composer.mistakes)
    if found is not None:
        found.extend(composer.mistakes)
    return root


def _control_character(source: Source, error: ReaderError) -> NotText:
    shown = error.character if isinstance(error.character, int) else ord(error.character)
    place = source.place_after(source.text[: error.position])
    return NotText(f"character U+{shown:04X} is not allowed in YAML", place)


class _BoundedScanner(Scanner):
    """Limits the nesting depth. The composer would notice too late, because the scanner reads ahead."""

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
        except (ValueError, OverflowError) as error:  # "\UFFFFFFFF" is passed to chr() unchecked
            problem = "there is no character with this code"
            raise MarkedYAMLError("in a quoted string", start_mark, problem, self.reader.get_mark()) from error


@dataclass
class _TooDeep(Exception):
    mark: Any


@dataclass
class _Directive(Exception):
    mark: Any


class _Composer:
    """Turns events into nodes and counts them. Mistakes that leave the structure intact are collected."""

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
        root = self.node_of(self.next())
        self.next()  # document end
        event = self.next()
        if not isinstance(event, ev.StreamEndEvent):
            raise NotASpec("a second document begins here", self.at(event.start_mark), help="a file contains one spec")
        return root

    def node_of(self, event: Any) -> Node:
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
            raise BadAlias(f"there is no '&{event.anchor}' before this alias", place)
        target = self.anchors[event.anchor]
        if target is None:
            raise BadAlias(f"'*{event.anchor}' is inside '&{event.anchor}' itself", place)
        self.grow(target.size, place)
        if self.depth + target.depth > MAX_DEPTH:
            raise TooLarge(f"nested more than {MAX_DEPTH} levels deep with aliases expanded", place)
        return target

    def grow(self, by: int, place: Place) -> None:
        self.count += by
        if self.count > MAX_NODES:
            raise TooLarge(f"more than {MAX_NODES:,} values with aliases expanded", place)

    def sequence(self, place: Place) -> Node:
        items: list[Node] = []
        while not isinstance(event := self.next(), ev.SequenceEndEvent):
            item = self.node_of(event)
            items.append(replace(item, place=self.gap(event)) if _left_empty(event) else item)
        whole = self.span(place, event.end_mark)
        depth = 1 + max((item.depth for item in items), default=0)
        return Node(items, whole, size=1 + sum(item.size for item in items), depth=depth)

    def mapping(self, place: Place) -> Node:
        entries: dict[str, Node] = {}
        size = depth = 1
        while not isinstance(event := self.next(), ev.MappingEndEvent):
            key = self.node_of(event)
            following = self.next()
            child = self.node_of(following)
            if _left_empty(following):
                child = replace(child, place=key.place)
            size += key.size + child.size
            depth = max(depth, 1 + child.depth)
            name = key.value
            if isinstance(name, (dict, list)):
                raise BadKey("a key must be a name, not a collection", key.place)
            if not isinstance(name, str) or (name == "<<" and getattr(event, "style", None) is None):
                self.mistakes.append(self.bad_key(key))
            elif name in entries:
                first = entries[name].key
                self.mistakes.append(
                    DuplicateKey(
                        f"key '{name}' occurs twice", key.place, label="again", other=first, other_label="first here"
                    )
                )
            else:
                entries[name] = replace(child, key=key.place)
        return Node(entries, self.span(place, event.end_mark), size=size, depth=depth)

    def bad_key(self, key: Node) -> BadKey:
        if key.value == "<<":
            return BadKey("merge keys are not part of the spec language", key.place, help="use 'extends:' or 'parts:'")
        return BadKey(f"a key must be a name, not {show(key.value)}", key.place, help="quote it if it is a name")

    def scalar(self, event: Any, place: Place) -> Scalar:
        if event.style is not None:  # quoted or block text is always a string
            return self.quoted(event.value, place)
        try:
            return plain_scalar(event.value)
        except ValueError as error:
            self.mistakes.append(
                Ambiguous(str(error), place, help=f"write it in plain notation, or quote it: '{event.value}'")
            )
        except OverflowError as error:
            self.mistakes.append(Ambiguous(str(error), place))
        return str(event.value)

    def quoted(self, value: str, place: Place) -> str:
        """Text with JSON's surrogate pairs, such as "\\ud83d\\ude00", combined into one character each."""
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
        """The place of an empty value. The parser notices it only at the next token, which may be lines away."""
        line, before = event.start_mark.line + 1, self.source.line(event.start_mark.line + 1)
        before = before[: event.start_mark.column]
        while not before.strip() and line > 1:
            line -= 1
            before = self.source.line(line)
        return Place(self.source, line, max(len(before.rstrip()), 1))

    def span(self, start: Place, end: Any) -> Place:
        """The place of a collection: from start to end if both are on one line, else the rest of its first line."""
        if end.line + 1 == start.line:
            last = end.column + 1
        else:  # only then is the line looked at: one line of a hostile file may hold thousands of collections
            last = len(_COMMENT.sub("", self.source.line(start.line)).rstrip()) + 1
        return replace(start, length=max(last - start.column, 1))


def _left_empty(event: Any) -> bool:
    return isinstance(event, ev.ScalarEvent) and event.start_mark.index == event.end_mark.index
