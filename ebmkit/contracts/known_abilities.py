"""Which abilities a component may name: those of ebmkit, and those that its plugin defines or imports."""

from __future__ import annotations

from typing import Any

from ebmkit.contracts.abilities import ABILITIES
from ebmkit.contracts.ability import info_of, is_ability, missing_members
from ebmkit.contracts.plugin_modules import plugin_modules


def abilities_for(cls: type) -> dict[str, Any]:
    """The abilities that a component of this class can name."""
    found = dict(ABILITIES)
    for module in plugin_modules(cls.__module__):
        for value in list(vars(module).values()):
            if is_ability(value):
                found.setdefault(info_of(value).name, value)
    return found


def broken_promise(cls: type, offers: frozenset[str], module: Any) -> str:
    """The first ability that a model offers but its module does not have, in words; empty if there is none."""
    known = abilities_for(cls)
    for name in sorted(offers & known.keys()):
        if lacking := missing_members(module, known[name]):
            return f"it offers '{name}', but its module has no {', '.join(lacking)}"
    return ""
