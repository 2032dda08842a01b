"""The hooks of a plugin: plain functions, each checked before pluggy sees it, which would skip some in silence and stop
at the first mistake."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

from ebmkit.registry import hookspecs
from ebmkit.registry.spelling import did_you_mean

HOOKS = {name: value for name, value in vars(hookspecs).items() if name.startswith("ebmkit_")}


def marked_hooks(names: Mapping[str, Any]) -> tuple[dict[str, FunctionType], list[str]]:
    """The hooks among the names of a module, and all mistakes in them."""
    found: dict[str, FunctionType] = {}
    mistakes = []
    for name, value in list(names.items()):
        marker = vars(value).get("ebmkit_impl") if type(value) is FunctionType else None
        if marker is not None:
            trouble = _hook_trouble(name, value, marker)
            mistakes += [trouble] if trouble else []
            found |= {} if trouble else {name: value}
        elif name in HOOKS and callable(value):
            mistakes.append(f"'{name}' lacks the marker @hookimpl, which belongs to a function")
    return found, mistakes


def _hook_trouble(name: str, function: FunctionType, marker: Mapping[str, Any]) -> str:
    if marker["wrapper"] or marker["hookwrapper"]:
        return f"the hook '{name}' is a wrapper, which ebmkit does not call; remove the option"
    if name not in HOOKS:
        return f"there is no hook '{name}'; {did_you_mean(name, HOOKS)}".rstrip("; ")
    known, wanted = _arguments(HOOKS[name]), _arguments(function)
    for argument in wanted:
        if argument not in known:
            meant = did_you_mean(argument, known) or f"it gets {', '.join(known) or 'none'}"
            return f"the hook '{name}' has the argument '{argument}', which is not passed; {meant}"
    return ""


def _arguments(function: FunctionType) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount]
