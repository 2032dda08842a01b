"""Which abilities a component may name: those of ebmkit, and those that its plugin defines or imports."""

from __future__ import annotations

from typing import Any

from ebmkit.contracts.abilities import ABILITIES, info_of, is_ability, missing_members
from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds.metric import OF_THE_RUN
from ebmkit.contracts.kinds.noise import NOISE_OFFERS
from ebmkit.registry.plugin_modules import plugin_modules
from ebmkit.registry.spelling import did_you_mean

#: For each kind, the class variables that hold names, and names allowed there in addition to abilities.
_NAMED: dict[str, dict[str, frozenset[str]]] = {
    "model": {"offers": frozenset()},
    "sampler": {"needs": frozenset()},
    "objective": {"needs": frozenset()},
    "metric": {"needs": OF_THE_RUN},
}


def abilities_for(cls: type[Component]) -> dict[str, Any]:
    """The abilities that a component can name."""
    found = dict(ABILITIES)
    for module in plugin_modules(cls.__module__):
        for value in list(vars(module).values()):
            if is_ability(value):
                found.setdefault(info_of(value).name, value)
    return found


def unknown_name(cls: type[Component]) -> str:
    """What is wrong with the names that a class offers or needs; empty if nothing."""
    if cls.component_kind == "noise":
        return _unknown(cls, "offers", NOISE_OFFERS)
    for trait, others in _NAMED.get(cls.component_kind, {}).items():
        if trouble := _unknown(cls, trait, abilities_for(cls).keys() | others):
            return trouble
    return ""


def _unknown(cls: type[Component], trait: str, known: Any) -> str:
    declared = getattr(cls, trait, ())
    if isinstance(declared, str) or not isinstance(declared, frozenset | set | tuple):
        return f"{cls.__qualname__}.{trait} must be a frozenset of names, not {declared!r}"
    for name in sorted(map(str, set(declared) - set(known))):
        meant = did_you_mean(name, sorted(known)) or f"known names: {', '.join(sorted(known))}"
        return f"{cls.__qualname__}.{trait} names '{name}', which is not an ability; {meant}"
    return ""


def broken_promises(cls: type[Component], offers: frozenset[str], module: Any) -> dict[str, list[str]]:
    """The abilities that a model offers but its module does not have, and what the module lacks for each."""
    known = abilities_for(cls)
    found = {name: missing_members(module, known[name]) for name in sorted(offers) if name in known}
    return {name: lacking for name, lacking in found.items() if lacking}
