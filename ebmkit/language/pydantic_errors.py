"""Translation of pydantic's errors: one message per mistake, with the expected value and a suggestion."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import ValidationError

from ebmkit.contracts.component import Component
from ebmkit.errors.base import MOST, EbmkitError
from ebmkit.errors.describe import text_of
from ebmkit.errors.schema import MissingKey, OutOfBounds, Refused, UnknownKey, UnknownParameter, WrongType
from ebmkit.errors.source import Path
from ebmkit.language.found import FOUND, Found
from ebmkit.language.text import show
from ebmkit.registry import words as describe
from ebmkit.registry.spelling import nearest


def translate(error: ValidationError, cls: type[Any], value: Any, owner: str) -> Iterator[tuple[Path, Found | None]]:
    """The mistakes in `value`, which should become a `cls`, each with its path inside `value`."""
    lines = _best_branches(error.errors(include_url=False)[:MOST], value)
    for line in lines:
        if line["type"] == "missing" and not isinstance(line["loc"][-1], str):
            line["type"] = "too_short"  # an entry of a list, not a key
        absent_key = line["loc"][-1:] if line["type"] == "missing" else ()
        line["loc"] = _existing(line["loc"], value) + absent_key
    unknown = {path: line for line in lines if line["type"] in _UNEXPECTED for path in [line["loc"]]}
    absent: dict[Path, list[str]] = {}
    by_path: dict[Path, list[Any]] = {}
    for line in lines:
        if line["type"] == "missing":
            absent.setdefault(line["loc"][:-1], []).append(str(line["loc"][-1]))
    for line in lines:
        if line["type"] == "missing":
            if not _meant_by_unknown(line["loc"], unknown):
                yield _missing(line["loc"], cls, owner)
        elif line["type"] in _UNEXPECTED:
            yield line["loc"], Found(_unexpected(line["loc"], cls, absent, owner), at_key=True)
        else:
            by_path.setdefault(line["loc"], []).append(line)
    outer = {line["loc"][:length] for line in lines for length in range(len(line["loc"]))}
    for path, found in by_path.items():
        # If an entry is wrong, it is reported there, and not again for its list or union. Mistakes inside components
        # were translated before.
        if path not in outer or any(line["type"] == "ebmkit" for line in found):
            yield from _wrong_value(path, found, cls, value, owner)


def _best_branches(lines: list[Any], value: Any) -> list[Any]:
    """For each union only the branch closest to the value: the deepest, with the fewest mistakes."""
    branches: dict[Path, dict[str | int, list[Any]]] = {}
    for line in lines:
        union, tag = _branch(line["loc"], value)
        branches.setdefault(union, {}).setdefault(tag, []).append(line)
    kept: list[Any] = []
    for union, by_tag in branches.items():
        inside = {
            tag: found
            for tag, found in by_tag.items()
            if len(found[0]["loc"]) > len(union) + 1 or _existing(found[0]["loc"], value) != union
        }
        if len(by_tag) > 1 and inside:
            kept += inside[min(inside, key=lambda tag: len(inside[tag]))]
        else:
            kept += [line for found in by_tag.values() for line in found]
    return kept


def _branch(location: Path, value: Any) -> tuple[Path, str | int]:
    """The path of the outermost union on a location, and pydantic's name for the branch."""
    for depth, key in enumerate(location):
        if not (key in value if isinstance(value, dict) else isinstance(value, list) and key in range(len(value))):
            return location[:depth], key
        value = value[key]
    return location, ""


_UNEXPECTED = ("unexpected_keyword_argument", "extra_forbidden")


def _existing(location: Path, value: Any) -> Path:
    """The part of a location that exists in the value; pydantic's names for branches of a union are dropped."""
    path: list[str | int] = []
    for key in location:
        if key in value if isinstance(value, dict) else isinstance(value, list) and key in range(len(value)):
            value = value[key]
            path.append(key)
    return tuple(path)


def _meant_by_unknown(missing: Path, unknown: dict[Path, Any]) -> bool:
    """A missing key next to a similar unknown one is one mistake, not two."""
    siblings = [path for path in unknown if path[:-1] == missing[:-1]]
    return nearest(str(missing[-1]), [str(path[-1]) for path in siblings]) is not None


def _missing(location: Path, cls: type[Any], owner: str) -> tuple[Path, Found]:
    parent, name = location[:-1], str(location[-1])
    who = _owner(parent, owner)
    hint = describe.step_into(_section(cls, parent), name)
    if get_origin(hint) is Literal and len(get_args(hint)) == 1:
        return parent, Found(MissingKey(f"{who} needs '{name}: {get_args(hint)[0]}'"))
    wanted = describe.words(hint)
    return parent, Found(MissingKey(f"{who} needs '{name}'" + ("" if name in wanted else f", {wanted}")))


def _unexpected(location: Path, cls: type[Any], absent: dict[Path, list[str]], owner: str) -> EbmkitError:
    parent, name = location[:-1], str(location[-1])
    target = _section(cls, parent)
    known = [field.name for field in dataclasses.fields(target)]
    if target is cls and not issubclass(target, Component):
        known += ["extends", "parts", "plugins"]  # the spec's own, read before its sections are
    meant = nearest(name, absent.get(parent, ())) or nearest(name, known)
    label = _belongs_elsewhere(name, target) or (f"did you mean '{meant}'?" if meant else "")
    who = _owner(parent, owner)
    if issubclass(target, Component):
        help = "" if label else f"its parameters: {', '.join(known) or 'none'}"
        return UnknownParameter(f"unknown parameter '{name}' of {who}", label=label, help=help)
    help = "" if label else f"known keys: {', '.join(known)}"
    return UnknownKey(f"{who} has no key '{name}'", label=label, help=help)


def _belongs_elsewhere(name: str, target: type[Any]) -> str:
    """The right place of a key that was written one level too high."""
    hints = get_type_hints(target, include_extras=True)
    for field in dataclasses.fields(target):
        hint = hints[field.name]
        inner = _dataclass_in(hint)
        if isinstance(field.default, Component):
            inner = type(field.default)
            owner = f"{field.name}: {{use: {field.default.component_name}, {name}: ...}}"
        elif describe.step_into(hint, name) is None:
            owner = f"{field.name}: [{{{name}: ...}}]"
        else:
            owner = f"{field.name}: {{{name}: ...}}"
        if inner is not None and name in [each.name for each in dataclasses.fields(inner)]:
            return f"it belongs one level deeper: {owner}"
    return ""


def _wrong_value(
    path: Path, lines: list[Any], cls: type[Any], value: Any, owner: str
) -> Iterator[tuple[Path, Found | None]]:
    """The mistakes in one value; several lines are the branches of one union."""
    ours = [line for line in lines if line["type"] == "ebmkit"]
    if ours:  # a component inside, already in our words
        for line in ours:
            yield path, line["ctx"][FOUND]
        return
    if lines[0]["type"] in ("value_error", "assertion_error"):
        reason = text_of(lines[0]["ctx"]["error"])
        who = _owner(path, owner)
        yield path, Found(Refused(f"{who}: {reason}"))
        return
    hint: Any = cls
    found: Any = value
    for key in path:
        hint, found = describe.step_into(hint, key), found[key]
    who = _name(path, owner)
    bounded = [line for line in lines if not line["type"].endswith(("_type", "_parsing"))]
    choices = [choice for line in lines for choice in _choices(hint) if line["type"] == "literal_error"]
    if choices and isinstance(found, str) and not _takes_more_than_choices(hint):
        meant = nearest(found, [str(choice) for choice in choices])
        label = f"did you mean '{meant}'?" if meant else ""
        yield path, Found(OutOfBounds(f"{who} must be {describe.words(hint)}, not {show(found)}", label=label))
    elif [line for line in bounded if line["type"] != "literal_error"]:
        yield path, Found(OutOfBounds(f"{who} must be {describe.words(hint)}, not {show(found)}", help=_finite(found)))
    else:
        help = _slip(found, lines, hint)
        yield path, Found(WrongType(f"{who} must be {describe.words(hint)}, not {show(found)}", help=help))


def _finite(found: Any) -> str:
    return "infinity and nan are not allowed" if isinstance(found, float) and found - found != 0 else ""


def _choices(hint: Any) -> list[Any]:
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [choice for argument in get_args(hint) for choice in _choices(argument)]


def _takes_more_than_choices(hint: Any) -> bool:
    """True for `int | Literal["auto"]` and the like, where a wrong string has a wrong type."""
    if get_origin(hint) is Literal or hint is type(None):
        return False
    arguments = get_args(hint)
    return not arguments or any(_takes_more_than_choices(argument) for argument in arguments)


def _slip(found: Any, lines: list[Any], hint: Any) -> str:
    """The usual reasons why a value has the wrong type."""
    wanted = " ".join(line["type"] for line in lines)
    if isinstance(found, str):
        if "bool" in wanted and found.lower() in ("yes", "on", "y"):
            return f"'{found}' is a string in YAML 1.2; write true"
        if "bool" in wanted and found.lower() in ("no", "off", "n"):
            return f"'{found}' is a string in YAML 1.2; write false"
        if "int" in wanted or "float" in wanted:
            try:
                number = float(found)
            except ValueError:
                return ""
            return _finite(number) or "a quoted number is a string; remove the quotes"
    if isinstance(found, float) and "int" in wanted and found == int(found if found - found == 0 else 0):
        return f"write {int(found)}"
    if found is None:
        return "a key without a value is null; delete the line to use the default"
    if "tuple" in wanted and not isinstance(found, list):
        return _as_list(found, hint)
    return ""


def _as_list(found: Any, hint: Any) -> str:
    """A hint how to write a single value as a list, if that is clear."""
    if isinstance(found, dict):
        return "put it into a list: [{...}]"
    if isinstance(found, str) and "," in found:
        return f"write [{found}]"
    return f"write [{show(found)}]" if describe.takes_any_length(hint) else ""


def _section(cls: type[Any], path: Path) -> type[Any]:
    """The dataclass in which a path ends."""
    hint: Any = cls
    for key in path:
        hint = describe.step_into(hint, key)
    found = _dataclass_in(hint)
    assert found is not None  # only dataclasses have missing or unknown keys
    return found


def _dataclass_in(hint: Any) -> type[Any] | None:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return hint
    inside = (_dataclass_in(argument) for argument in get_args(hint))
    return next((found for found in inside if found is not None), None)


def _owner(path: Path, owner: str) -> str:
    return f"'{_dotted(path)}'" if path else owner


def _name(path: Path, owner: str) -> str:
    whose = "" if owner == "the spec" else f" of {owner}"
    return f"'{_dotted(path)}'{whose}"


def _dotted(path: Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")
