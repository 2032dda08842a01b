"""Names of abilities that a component offers or needs, checked at registration and in specs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds.metric import OF_THE_RUN
from ebmkit.contracts.kinds.noise import NOISE_OFFERS
from ebmkit.contracts.known_abilities import abilities_for
from ebmkit.registry.spelling import did_you_mean

#: The trait of a kind that holds names of abilities.
_TRAIT = {"model": "offers", "noise": "offers", "sampler": "needs", "objective": "needs", "metric": "needs"}


def unknown_ability(cls: type[Component], declared: Any = None, parts: Iterable[type[Component]] = ()) -> str:
    """What is wrong with the names that a component offers or needs, or nothing.

    `declared` are those of an instance, whose parameters may decide; without it, those that the class declares. An
    instance also passes on what its `parts` name, such as `parallel_tempering` the needs of a plugin's sampler.
    """
    trait = _TRAIT.get(cls.component_kind)
    if trait is None:
        return ""
    names = getattr(cls, trait, ()) if declared is None else declared
    if isinstance(names, str) or not isinstance(names, frozenset | set | tuple):
        return f"{cls.__qualname__}.{trait} must be a frozenset of names, not {names!r}"
    known = set(_known(cls)).union(*map(_known, (part for part in parts if part.component_kind == cls.component_kind)))
    for name in sorted(map(str, set(names) - set(known))):
        meant = did_you_mean(name, sorted(known)) or f"known names: {', '.join(sorted(known))}"
        return f"{cls.__qualname__}.{trait} names '{name}', which is no ability; {meant}"
    return ""


def trait_of(component: Component) -> Any:
    """The names that an instance offers or needs; None for kinds without any."""
    trait = _TRAIT.get(component.component_kind)
    return None if trait is None else getattr(component.traits(), trait)  # type: ignore[attr-defined]


def _known(cls: type[Component]) -> Collection[str]:
    if cls.component_kind == "noise":
        return NOISE_OFFERS
    return abilities_for(cls).keys() | (OF_THE_RUN if cls.component_kind == "metric" else set())
