"""The declaration of an ability: a protocol with a name, and whether it survives another temperature.

The abilities of ebmkit itself are in `abilities.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

#: `heated(cold, temperature)`: the same ability of `exp(-E/T)`, with a temperature `(B,)` for each chain.
Heated = Callable[[Any, Any], Any]

P = TypeVar("P", bound=type[Any])

#: The names of the abilities of ebmkit itself, which a plugin cannot declare again.
_OWN: set[str] = set()


class AbilityInfo(NamedTuple):
    """The declaration of an ability."""

    name: str
    #: Attributes that the module must have.
    members: tuple[str, ...]
    heated: Heated | None
    #: Whether the energy itself provides it, at any temperature.
    by_energy: bool
    #: Whether it takes joint states of visible and hidden units, if a model has both; others take visible ones.
    joint: bool = False


def ability(
    name: str, *, heated: Heated | None = None, by_energy: bool = False, joint: bool = False
) -> Callable[[P], P]:
    """Declare a protocol as the ability `name`. Without `heated` it is not defined at temperatures other than 1."""

    def declare(protocol: P) -> P:
        if not getattr(protocol, "_is_protocol", False):
            raise TypeError(f"{protocol.__qualname__}: an ability must be a typing.Protocol")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise TypeError(f"ability name {name!r}: use lower-case letters, digits and underscores")
        if protocol.__module__.startswith("ebmkit."):
            _OWN.add(name)
        elif name in _OWN:
            raise TypeError(f"{protocol.__qualname__}: ebmkit has an ability '{name}' already; choose another name")
        members = tuple(dict.fromkeys(member for base in reversed(protocol.__mro__) for member in _members(base)))
        protocol.ability_info = AbilityInfo(name, members, heated, by_energy, joint)
        return protocol

    return declare


def _members(base: type) -> list[str]:
    """What a protocol requires by itself, without what it inherits."""
    if base in (object, Protocol, Generic):
        return []
    declared = {**vars(base).get("__annotations__", {}), **vars(base)}
    return [member for member in declared if not member.startswith("_") and member != "ability_info"]


def info_of(protocol: Any) -> AbilityInfo:
    """The declaration made by `@ability`. Raises a TypeError if there is none."""
    found = vars(protocol).get("ability_info") if isinstance(protocol, type) else None
    if not isinstance(found, AbilityInfo):
        raise TypeError(f"{protocol!r} is not an ability: declare it with @ability(...)")
    return found


def is_ability(value: Any) -> bool:
    """Whether a class is declared by `@ability`."""
    return isinstance(value, type) and isinstance(vars(value).get("ability_info"), AbilityInfo)


def missing_members(module: Any, protocol: Any) -> list[str]:
    """The attributes of an ability that a module lacks."""
    return [member for member in info_of(protocol).members if not hasattr(module, member)]
