"""The shapes that a law is tested on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ebmkit.components.data.from_model import FromModel
from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Data, Event, Model, Noise, Objective, Sampler
from ebmkit.contracts.question import Question
from ebmkit.testing.law import Inapplicable
from ebmkit.testing.partner import categorical_machine, gaussian, model_for, potts

#: Dimensions in which mistakes show, and an image.
EVENTS: tuple[Event, ...] = ((1,), (2,), (10,), (1, 4, 4))
#: Shapes of categorical states, of which there are few enough to enumerate.
CATEGORICAL: tuple[Event, ...] = ((2,), (1, 2, 3))
#: For models that take none of these: the first that fits is used.
LARGER: tuple[Event, ...] = ((1, 8, 8), (1, 28, 28), (3, 32, 32))


@dataclass(frozen=True)
class Case:
    """A shape of states, and preferred models to work with. The shape is empty for a kind without states."""

    event: Event
    partners: tuple[Model, ...] = ()

    def __str__(self) -> str:
        return f" on states of shape {self.event}" if self.event else ""


def cases_of(component: Component, partners: Sequence[Model] = ()) -> list[Case]:
    """The test shapes that a component takes. Raises `Inapplicable` for data with missing files."""
    match component:
        case Data():
            missing = [str(path) for path in component.files() if not path.exists()]
            if missing:
                raise Inapplicable(f"the file {missing[0]!r} that it reads is missing")
            return [Case(component.event())]
        case Model() | Noise() if (fixed := component.event()) is not None:
            return [Case(fixed)]
        case Model():
            fitting = [event for event in (*EVENTS, *LARGER) if not component.refusal(_with_data(component, event))]
            return [Case(event) for event in fitting if event in EVENTS or event == fitting[0]]
        case Sampler():
            reasons = {event: _refusal(component, event, partners) for event in EVENTS}
            if all(reasons.values()):
                raise Inapplicable("; ".join(dict.fromkeys(f"it {reason}" for reason in reasons.values())))
            fitting_cases = [Case(event, tuple(partners)) for event, reason in reasons.items() if not reason]
            return fitting_cases + _categorical_cases(component, partners)
        case Objective():
            return [*(Case(event, tuple(partners)) for event in EVENTS), *_categorical_cases(component, partners)]
    if component.component_kind in ("init", "noise", "metric"):
        return [Case(event, tuple(partners)) for event in EVENTS]
    return [Case(())]


def _categorical_cases(component: Sampler | Objective, partners: Sequence[Model]) -> list[Case]:
    """Shapes of categorical states with a model of them, for what is also tested with models of other spaces."""
    spaces = component.traits().spaces
    own = component.traits().sampler if isinstance(component, Objective) else None
    if partners or "categorical" not in spaces or (own and "categorical" not in own.traits().spaces):
        return []
    made = potts if isinstance(component, Sampler) else categorical_machine
    cases = [Case(event, (made(event),)) for event in CATEGORICAL]
    return [case for case in cases if model_for(component, case.event, case.partners)[0] is case.partners[0]]


def _with_data(model: Model, event: Event) -> Question:
    """A question with data: some models take more from them than their shape."""
    return Question(event, model, data=FromModel(model=gaussian(event)))


def _refusal(sampler: Sampler, event: Event, partners: Sequence[Model]) -> str | None:
    """Why a sampler refuses states of a shape, those of the model that it would be tested with."""
    try:
        model, fixed = model_for(sampler, event, partners)
    except Inapplicable:
        return None  # refused for another reason, which each law will report
    return sampler.refusal(Question(fixed, model, data=FromModel(model=gaussian(fixed)), sampler=sampler))
