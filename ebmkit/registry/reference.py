"""A component's docstring as a reference page: summary, formula, results, parameters, reference, example."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from typing import Any, get_type_hints

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Metric
from ebmkit.errors.describe import type_name
from ebmkit.registry import words as describe

_HEADINGS = ("Results:", "Parameters:", "Reference:", "Example:")

#: Maximum number of characters of a docstring that is shown.
LONGEST = 20_000


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a component."""

    name: str
    type: str
    default: Any  # as it is written in a spec; `dataclasses.MISSING` if there is none
    meaning: str

    @property
    def required(self) -> bool:
        return self.default is dataclasses.MISSING


@dataclasses.dataclass(frozen=True)
class Page:
    """The content of `ebmkit show` and of the reference, as plain data."""

    summary: str
    body: str  # formula and explanation
    results: dict[str, str]  # meanings of the numbers that a metric reports
    parameters: tuple[Parameter, ...]
    reference: str
    example: str


def page(cls: type[Any]) -> Page:
    """The reference page of a component or of a section of the language."""
    text = (inspect.getdoc(cls) or "")[:LONGEST]
    sections = _split(text)
    summary, _, body = sections[""].partition("\n\n")
    meanings = _meanings(sections.get("Parameters:", ""))
    hints = get_type_hints(cls, include_extras=True)
    parameters = tuple(
        Parameter(
            field.name,
            describe.words(hints[field.name]),
            dataclasses.MISSING if (default := default_of(field)) is dataclasses.MISSING else plain_default(default),
            meanings.get(field.name, ""),
        )
        for field in dataclasses.fields(cls)
    )
    return Page(
        summary=summary.replace("\n", " "),
        body=body.strip("\n"),
        results=_meanings(sections.get("Results:", "")),
        parameters=parameters,
        reference=" ".join(sections.get("Reference:", "").split()),
        example=textwrap.dedent(sections.get("Example:", "")).strip(),
    )


def result_meanings(metric: Metric) -> dict[str, str]:
    """The meanings of the results of a metric, by name; those that its docstring does not explain are left out.

    The docstring has one line for names that differ in a number (`mode_weight_k`), in a coordinate (`mean` for
    `mean(x0)`) or in what follows an `@`.
    """
    explained, found = page(type(metric)).results, {}
    for name in metric.results():
        short = re.sub(r"\(.*\)", "", name).partition("@")[0]
        words = explained.get(name) or explained.get(short) or explained.get(re.sub(r"_\d+\Z", "_k", short))
        if words:
            found[name] = words.rstrip(".")
    return found


def _split(text: str) -> dict[str, str]:
    """The text of each heading; the text before the first heading has the key ""."""
    sections: dict[str, list[str]] = {"": []}
    current = ""
    for line in text.split("\n"):
        heading = next((word for word in _HEADINGS if line.startswith(word)), None)
        if heading:
            current, line = heading, line[len(heading) :]
            sections[current] = []
        sections[current].append(line)
    return {heading: "\n".join(lines).rstrip() for heading, lines in sections.items()}


def _meanings(text: str) -> dict[str, str]:
    """Descriptions by name, from lines `    name: meaning`; a meaning may continue over several lines."""
    found: dict[str, str] = {}
    name = ""
    for line in textwrap.dedent(text).split("\n"):
        start = re.match(r"(\w+): (.*)", line)
        if start:
            name = start[1]
            found[name] = start[2]
        elif name and line.strip():
            found[name] += " " + line.strip()
    return found


def default_of(field: dataclasses.Field[Any]) -> Any:
    """The default of a field; `dataclasses.MISSING` if there is none."""
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default


def plain_default(value: Any) -> Any:
    """A default as it is written in a spec. Raises TypeError for one that no spec can contain."""
    if dataclasses.is_dataclass(value):
        given = {
            field.name: plain_default(current)
            for field in dataclasses.fields(value)
            if (current := getattr(value, field.name)) != default_of(field)
        }
        component: Any = value
        if not isinstance(component, Component):  # a section
            return given
        return {"use": component.component_name, **given} if given else component.component_name
    if type(value) in (tuple, list):
        return [plain_default(item) for item in value]
    if type(value) is dict:
        return {plain_default(key): plain_default(item) for key, item in value.items()}
    if type(value) not in (str, int, float, bool, type(None)):
        raise TypeError(f"an object of type {type_name(value)} cannot be written in a spec")
    return value
