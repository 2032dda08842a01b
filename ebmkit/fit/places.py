"""Where things are written that do not fit, and how they are called."""

from __future__ import annotations

from ebmkit.check import Checked
from ebmkit.component import Component
from ebmkit.kinds import Event
from ebmkit.place import Place


class Places:
    """Where the things that do not fit are written."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked

    def __call__(self, *path: str | int) -> Place:
        """The place of a value; for a default, that of the nearest thing around it."""
        return self.checked.tree.follow(path).head


def called(component: Component) -> str:
    return f"{component.component_kind} '{component.component_name}'"


def conditioned(on: str | None) -> str:
    return f"a model conditioned on {on}" if on else "a model without conditioning"


def event_of(checked: Checked) -> Event | None:
    """The shape of a state: what the data have, or what the model's parameters fix."""
    spec = checked.spec
    return spec.data.event() if spec.data else spec.model.event()
