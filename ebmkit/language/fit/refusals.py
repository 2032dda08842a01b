"""Checks whether a component refuses the experiment for a reason of its own."""

from __future__ import annotations

from collections.abc import Iterator

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import Data, Model, Sampler
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError
from ebmkit.errors.fit import ShapeMismatch, Unsuitable
from ebmkit.errors.source import Path
from ebmkit.language.check import Checked
from ebmkit.language.fit.places import Places, label_of, question_of


def refusal_misfits(checked: Checked, here: Places) -> Iterator[EbmkitError]:
    """The refusals of all components of the spec. Models and data inside other components are left to these."""
    question = question_of(checked)
    if question is None:
        return
    for path, component in walk(checked.spec):
        inside = isinstance(component, Model | Data) and len(path) > 1
        if inside or (isinstance(component, Model) and _has_another_shape(checked)):
            continue
        if reason := component.refusal(question):
            yield _refused(path, component, reason, checked, here)


def _has_another_shape(checked: Checked) -> bool:
    """Whether data and model have different shapes, which is reported as a separate mistake."""
    data, fixed = checked.spec.data, checked.spec.model.event()
    return data is not None and fixed is not None and data.event() != fixed


def _refused(path: Path, component: Component, reason: str, checked: Checked, here: Places) -> EbmkitError:
    data, model, event = checked.spec.data, checked.spec.model, question_of(checked)
    assert event is not None
    if isinstance(component, Model | Sampler):
        return ShapeMismatch(
            f"{label_of(component)} {reason}",
            here(*path),
            other=here("data") if data else here("model"),
            other_label=f"shape {event.event}",
        )
    return Unsuitable(
        f"{label_of(component)} {reason}",
        here(*path),
        other=here("model"),
        other_label=f"{label_of(model)} with states of shape {event.event}",
    )
