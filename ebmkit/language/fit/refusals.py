"""Checks whether a component refuses the experiment for a reason of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Data, Event, Model, Sampler
from ebmkit.contracts.question import Question
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.errors.fit import ShapeMismatch, Unsuitable
from ebmkit.errors.running import ComponentFailed
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, label_of, question_of
from ebmkit.language.fit.stages import seen_from


def refusal_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """The refusals of all components of the spec. Models and data inside other components are left to these."""
    if question_of(checked) is None:
        return
    asked: set[tuple[int, Event]] = set()
    model_refused = False
    for path, component in sorted(walk(checked.spec), key=lambda each: each[0] != ("model",)):
        inside = isinstance(component, Model | Data) and len(path) > 1
        if inside or (isinstance(component, Model) and _has_another_shape(checked)):
            continue
        for question in filter(None, map(question_of, seen_from(path, checked))):
            if (id(component), question.event) not in asked:  # a shared component is reported once
                asked.add((id(component), question.event))
                for refusal in _refusals(path, component, question, here):
                    if model_refused and isinstance(refusal, ComponentFailed):
                        continue  # it may have asked the model about states that the model refuses
                    model_refused = model_refused or component is checked.spec.model
                    yield refusal


def _refusals(path: Path, component: Component, question: Question, here: Places) -> Iterator[EbmkitError]:
    try:
        reason: Any = component.refusal(question)
    except Exception as error:  # a plugin may raise anything
        yield ComponentFailed(f"{here.label(component)}: 'refusal' raised {describe_error(error)}", here(*path))
        return
    if reason is not None and not isinstance(reason, str):
        said = f"'refusal' returned an object of type {type_name(reason)}, but text or None is expected"
        yield ComponentFailed(f"{here.label(component)}: {said}", here(*path))
    elif reason:
        yield _refused(path, component, f"{label_of(component)} {reason}", question, here)


def _has_another_shape(checked: Checked) -> bool:
    """Whether data and model have different shapes, which is reported as a separate mistake."""
    data, fixed = checked.spec.data, checked.spec.model.event()
    return data is not None and fixed is not None and data.event() != fixed


def _refused(path: Path, component: Component, message: str, question: Question, here: Places) -> EbmkitError:
    if isinstance(component, Model | Sampler):
        other = here("data") if question.data else here("model")
        return ShapeMismatch(message, here(*path), other=other, other_label=f"states of shape {question.event}")
    label = f"{label_of(question.model)} with states of shape {question.event}"
    return Unsuitable(message, here(*path), other=here("model"), other_label=label)
