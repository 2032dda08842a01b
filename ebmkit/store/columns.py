"""Columns of a list of runs: what `run.json` says, results by their names, parameters by their paths in the spec."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from ebmkit.registry.spelling import did_you_mean
from ebmkit.store.entry import Entry

#: A number, a text or a truth value; lists and mappings are JSON text. None for a run that does not have it.
Value: TypeAlias = float | str | None

#: What `run.json` says of every run, in the order in which `runs` shows it.
FIELDS = ("run", "name", "status", "step", "steps", "seed", "started", "seconds", "verdict", "hash", "error")


class UnknownColumn(ValueError):
    """A name that no run has."""


def value_of(entry: Entry, column: str) -> Value:
    """The value of a column for one run: a field, a result, or a parameter, in this order."""
    if column in FIELDS:
        return _field(entry, column)
    if column in entry.results:
        return entry.results[column]
    return _plain(_parameter(entry.parameters, column.split(".")))


def require_known(columns: Sequence[str], runs: Sequence[Entry]) -> None:
    """Raise `UnknownColumn` for the first column that is neither a field nor known of any of the runs."""
    for column in columns:
        if runs and column not in FIELDS and all(value_of(entry, column) is None for entry in runs):
            known = {*FIELDS, *(name for entry in runs for name in _names(entry))}
            if column in known:
                continue
            hint = did_you_mean(column, known) or "columns are fields, results and paths of the spec"
            raise UnknownColumn(f"no run has '{column}'; {hint}")


def result_columns(runs: Sequence[Entry]) -> list[str]:
    """The names of all results, in the order in which they were first measured."""
    return list(dict.fromkeys(name for entry in runs for name in entry.results))


def order(runs: Sequence[Entry], column: str, *, descending: bool = False) -> list[Entry]:
    """The runs sorted by a column, numbers before texts; runs without it are last."""
    there = [entry for entry in runs if value_of(entry, column) is not None]
    there.sort(key=lambda entry: _rank(value_of(entry, column)), reverse=descending)
    return there + [entry for entry in runs if value_of(entry, column) is None]


def _rank(value: Value) -> tuple[bool, float, str]:
    return (True, 0.0, value) if isinstance(value, str) else (False, float(value or 0), "")


def _field(entry: Entry, column: str) -> Value:
    if column == "run":
        return str(entry.folder)
    found = entry.summary.get(column)
    if column == "verdict" and isinstance(found, dict):
        found = found.get("level")
    return None if found == "" else _plain(found)


def _parameter(value: Any, path: Sequence[str]) -> Any:
    """The value at a path of the resolved spec; of a component its name."""
    for key in path:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value["use"] if isinstance(value, dict) and isinstance(value.get("use"), str) else value


def _plain(value: Any) -> Value:
    if isinstance(value, bool | dict | list):
        return json.dumps(value)
    return value if isinstance(value, float | int | str) else None


def _names(entry: Entry) -> list[str]:
    """Every result of a run, and the path of every parameter."""
    return [*entry.results, *_paths(entry.parameters, "")]


def _paths(value: Any, before: str) -> list[str]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, of in pairs:
        path = f"{before}.{key}" if before else str(key)
        found += [path, *_paths(of, path)]
    return found
