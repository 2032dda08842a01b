"""Do components answer questions about themselves with values of the promised types?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any, get_args

from ebmkit.contracts.kinds import Metric, Sampler, Schedule
from ebmkit.contracts.states import Space
from ebmkit.contracts.traits import DataTraits, MetricTraits, ModelTraits, NoiseTraits, ObjectiveTraits, SamplerTraits
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.errors.running import ComponentFailed
from ebmkit.errors.schema import Refused
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, label_of
from ebmkit.registry.abilities import trait_of, unknown_ability


def trait_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """Checks what components say of themselves. Parameters may decide it, so it was not known at registration."""
    for path, component in walk(checked.spec):
        try:
            odd = _odd_answer(component)
            parts = [type(part) for _, part in walk(component)]
            wrong = "" if odd else unknown_ability(type(component), trait_of(component), parts)
        except Exception as error:  # a plugin may raise anything
            odd, wrong = f"'traits' raised {describe_error(error)}", ""
        if odd:
            yield ComponentFailed(f"{here.label(component)}: {odd}", here(*path))
        if wrong:
            yield Refused(f"{label_of(component)}: {wrong}", here(*path))


def _names(value: Any) -> bool:
    return type(value) is frozenset and all(type(name) is str for name in value)


def _amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < inf


def _instance(*kinds: type) -> Callable[[Any], bool]:
    return lambda value: issubclass(type(value), kinds)


#: What a trait may be, and its description.
_TRAITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "space": (lambda value: type(value) is str and value in get_args(Space), f"one of {', '.join(get_args(Space))}"),
    **dict.fromkeys(("spaces", "offers", "needs", "noise_needs", "traces"), (_names, "a frozenset of names")),
    "conditioning": (lambda value: value is None or value in ("sigma", "time"), "'sigma', 'time' or None"),
    **dict.fromkeys(("classes", "categories"), (_instance(int, type(None)), "a number or None")),
    "schedule": (_instance(Schedule, type(None)), "a noise schedule or None"),
    "evaluations": (_amount, "a finite number that is not negative"),
    "learning_rate": (lambda value: _amount(value) and value > 0, "a finite number above 0"),
    "sampler": (_instance(Sampler, type(None)), "a sampler or None"),
}
_PLAIN = (_instance(bool, int, float, str), "a number, a truth value or text")

#: The type of the traits of a kind.
_TRAITS_OF: dict[str, type[Any]] = {
    "data": DataTraits,
    "model": ModelTraits,
    "objective": ObjectiveTraits,
    "sampler": SamplerTraits,
    "noise": NoiseTraits,
    "metric": MetricTraits,
}


def _odd_answer(component: Any) -> str:
    """A value of the wrong type that a component gives; empty if there is none."""
    expected = _TRAITS_OF.get(component.component_kind)
    traits = component.traits() if expected else None
    if expected and type(traits) is not expected:
        return f"'traits' returned an object of type {type_name(traits)}, but {expected.__name__} is expected"
    for name, value in traits._asdict().items() if traits else ():
        fits, words = _TRAITS.get(name, _PLAIN)
        if not fits(value):
            found = value if type(value) in (int, float) else f"an object of type {type_name(value)}"
            return f"the trait '{name}' is {found}, but it must be {words}"
    if isinstance(traits, ModelTraits) and (traits.space == "categorical") != (traits.categories is not None):
        counted = "must be given" if traits.space == "categorical" else "must be None"
        return f"the trait 'categories' {counted}, because its states are {traits.space}"
    if isinstance(component, Metric) and not (
        type(names := component.results()) is tuple and all(type(name) is str and name.isprintable() for name in names)
    ):
        return "'results' must return a tuple of names"
    return ""
