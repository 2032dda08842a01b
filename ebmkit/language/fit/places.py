"""Places and labels of things that do not fit, and suggestions of what would."""

from __future__ import annotations

from typing import Any

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Event
from ebmkit.contracts.question import Question
from ebmkit.contracts.states import Conditioning
from ebmkit.errors.source import Place
from ebmkit.language.check import Checked
from ebmkit.language.plan import question_about
from ebmkit.language.scaling import with_scale
from ebmkit.registry.registry import Registry

#: Maximum number of names in a suggestion.
MOST_NAMES = 4


class Places:
    """The places of values in a spec."""

    def __init__(self, checked: Checked, registry: Registry) -> None:
        self.checked = checked
        self.registry = registry

    def __call__(self, *path: str | int) -> Place:
        """The place of a value; for a default, that of the nearest enclosing value."""
        return self.checked.tree.follow(path).head

    def label(self, component: Component) -> str:
        """A component in messages about its code: with the name of its plugin, and the distribution."""
        name, origin = self.registry.name_of(type(component)), self.registry.origin(type(component))
        return f"{component.component_kind} '{name}'{origin}"

    def fitting(self, kind: str) -> str:
        """Registered components of a kind that fit the model of the spec, for advice; empty if there are none."""
        traits = self.checked.spec.model.traits()
        names = [
            f"'{entry.name}'"
            for entry in self.registry.entries(kind)
            if _declares(entry.cls, "conditioning", None) == traits.conditioning
            and traits.space in _declares(entry.cls, "spaces", ())
            and _declares(entry.cls, "needs", frozenset()) <= traits.offers
        ]
        return ", ".join(names[:MOST_NAMES] + ["..."] * (len(names) > MOST_NAMES))


def _declares(cls: type[Component], trait: str, default: Any) -> Any:
    """A trait that a class declares for all its instances."""
    return getattr(cls, trait, default)


def label_of(component: Component) -> str:
    """The label of a component in messages: `sampler 'langevin'`."""
    return f"{component.component_kind} '{component.component_name}'"


def conditioned(on: Conditioning) -> str:
    """The arguments of a network with this conditioning, for messages."""
    return {"sigma": "x and a noise level sigma", "time": "x and a time t", None: "x alone"}[on]


def model_for(conditioning: Conditioning) -> str:
    """A model with this conditioning, for messages."""
    return {
        "sigma": "a model with a schedule of discrete noise levels",
        "time": "a model with a schedule in continuous time",
        None: "a model without a schedule",
    }[conditioning]


def event_of(checked: Checked) -> Event | None:
    """The shape of a state: that of the data, or the one fixed by the model's parameters."""
    spec = checked.spec
    return checked.seen or (spec.data.event() if spec.data else spec.model.event())


def question_of(checked: Checked) -> Question | None:
    """The question passed to every component's `refusal`; None if the shape of a state is not known."""
    spec, event = checked.spec, event_of(checked)
    if event is None:
        return None
    return question_about(with_scale(spec)[0], event)
