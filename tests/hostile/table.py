"""Reads `wrong_specs.md`: the specs with their brackets taken out, and what is expected where the brackets stood."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
CONTROL = {"⇥": "\t", "␀": "\0", "␛": "\x1b", "▯": "\ufeff"}
ENCODINGS = {"utf-16": "utf-16", "latin-1": "latin-1", "bom": "utf-8-sig", "crlf": "utf-8"}

_HEADING = re.compile(r"### (?P<title>.*): (?P<codes>E[0-9]{3}( E[0-9]{3})*)\n")
_FENCE = re.compile(r"^```yaml(?P<words>.*)\n(?P<text>[\s\S]*?)```$", re.MULTILINE)
_FLAG = re.compile(r"`(?P<option>--\w+) (?P<value>[^`]*)`")


@dataclass(frozen=True, order=True)
class Mark:
    """What a message must underline: `length` letters of one line, counted from 1."""

    source: str
    line: int
    column: int
    code: str
    length: int


@dataclass
class Case:
    """One wrong spec."""

    title: str
    files: dict[str, bytes] = field(default_factory=dict)
    flags: list[tuple[str, str]] = field(default_factory=list)
    expected: list[Mark] = field(default_factory=list)

    def write(self, folder: Path) -> str:
        """Put the files into a folder; returns the path of the spec."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
        return str(folder / "spec.yaml")

    def arguments(self) -> list[str]:
        """The flags as a shell would hand them over."""
        return [word for flag in self.flags for word in flag]

    @property
    def exit_status(self) -> int:
        """3 where nothing but plugins is wrong: they are missing, or their code raises."""
        return 3 if all(mark.code.startswith(("E12", "E30")) for mark in self.expected) else 2


def read_table(path: Path = HERE / "wrong_specs.md") -> list[Case]:
    """All cases of the page."""
    _, *sections = re.split(r"(?m)^(?=### )", path.read_text(encoding="utf-8"))
    return [_case(section) for section in sections]


def _case(section: str) -> Case:
    heading = _HEADING.match(section)
    assert heading, f"a heading ends with its codes: {section.splitlines()[0]!r}"
    case = Case(heading["title"])
    marks: list[tuple[str, int, int, int]] = []
    body = section[heading.end() :]
    for fence in _FENCE.finditer(body):
        words = fence["words"].split()
        name = next((word for word in words if word not in ENCODINGS), "spec.yaml")
        text, found = _unmark(fence["text"])
        marks += [(name, *place) for place in found]
        case.files[name] = _encode(text, words)
    counts: dict[str, int] = {}
    for flag in _FLAG.finditer(_FENCE.sub("", body)):
        option = flag["option"]
        counts[option] = counts.get(option, 0) + 1
        value, found = _unmark(flag["value"].replace("PLUGINS", str(HERE / "plugins")))
        marks += [(f"{option}[{counts[option]}]", *place) for place in found]
        case.flags.append((option, value))
    codes = heading["codes"].split()
    assert len(codes) == len(marks), f"{case.title}: {len(codes)} codes and {len(marks)} brackets"
    case.expected = sorted(
        Mark(source, line, column, code, length)
        for code, (source, line, column, length) in zip(codes, marks, strict=True)
    )
    return case


def _unmark(text: str) -> tuple[str, list[tuple[int, int, int]]]:
    """The text without brackets, and line, column and length of what stood in each pair, in order of their start."""
    plain = ""
    open_marks: list[int] = []
    found: list[tuple[int, int, int]] = []
    for letter in text:
        if letter == "⟦":
            open_marks.append(len(found))
            found.append((plain.count("\n") + 1, len(plain) - (plain.rfind("\n") + 1) + 1, 0))
        elif letter == "⟧":
            line, column, _ = found[(number := open_marks.pop())]
            end = len(plain) - (plain.rfind("\n") + 1) + 1
            found[number] = (line, column, max(end - column, 1))
        else:
            plain += CONTROL.get(letter, letter)
    return plain, found


def _encode(text: str, words: list[str]) -> bytes:
    if "crlf" in words:
        text = text.replace("\n", "\r\n")
    encoding = next((ENCODINGS[word] for word in words if word in ENCODINGS), "utf-8")
    return text.encode(encoding)
