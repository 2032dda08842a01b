"""Where things that do not fit are written, what they are called, and what would fit instead."""

from __future__ import annotations

from typing import Any

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Event
from ebmkit.contracts.question import Question
from ebmkit.contracts.states import Conditioning
from ebmkit.errors.source import Place
from ebmkit.language.check import Checked
from ebmkit.registry.registry import Registry

#: Names in one piece of advice.
MOST_NAMES = 4


class Places:
    """The places of values in a spec."""

    def __init__(self, checked: Checked, registry: Registry) -> None:
        self.checked = checked
        self.registry = registry

    def __call__(self, *path: str | int) -> Place:
        """The place of a value; for a default, that of the nearest enclosing value."""
        return self.checked.tree.follow(path).head

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
    """What a class says of all its instances."""
    return getattr(cls, trait, default)


def label_of(component: Component) -> str:
    """A component in words: `sampler 'langevin'`."""
    return f"{component.component_kind} '{component.component_name}'"


def conditioned(on: Conditioning) -> str:
    """What a network takes, in words."""
    return {"sigma": "x and a noise level sigma", "time": "x and a time t", None: "x alone"}[on]


def model_for(conditioning: Conditioning) -> str:
    """A model that is conditioned so, in words."""
    return {
        "sigma": "a model with a schedule of noise levels",
        "time": "a model with a schedule in time",
        None: "a model without a schedule",
    }[conditioning]


def event_of(checked: Checked) -> Event | None:
    """The shape of a state: that of the data, or the one fixed by the model's parameters."""
    spec = checked.spec
    return spec.data.event() if spec.data else spec.model.event()


def question_of(checked: Checked) -> Question | None:
    """What every component of a spec is asked; None where the shape of a state is not known."""
    spec, event = checked.spec, event_of(checked)
    if event is None:
        return None
    chains = spec.chains.count if spec.chains else None
    return Question(event, spec.model, spec.data, spec.objective, spec.chain_sampler, chains)
