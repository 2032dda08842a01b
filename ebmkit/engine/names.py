"""The names that data or the model give to coordinates, and data to labels, for pictures, messages and files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

from ebmkit.engine.mixing import coordinate
from ebmkit.engine.telling.error_site import ErrorSite
from ebmkit.errors.printable import printable
from ebmkit.language.plan import Plan
from ebmkit.storage.headings import PLAIN, Headings

#: Maximum length of a name in pictures and messages.
LONGEST = 40


class Names:
    """The names of a plan's data and model, which are read when they are first needed."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @cached_property
    def headings(self) -> Headings:
        """The names as the data have them, or the model; those of missing files are not known."""
        found = self._of_data()
        return found if found.coordinates is not None else found._replace(coordinates=self._of_model())

    def _of_model(self) -> tuple[str, ...] | None:
        with ErrorSite(self._plan, ("model",)):
            names = self._plan.spec.model.coordinate_names()
            self._check(names)
            return names

    def _check(self, names: tuple[str, ...] | None) -> None:
        if names is not None and (len(names),) != self._plan.event:
            raise ValueError(f"it names {len(names)} coordinates, but states are {self._plan.event}")

    def _of_data(self) -> Headings:
        data = self._plan.spec.data
        if data is None or data.missing():
            return PLAIN
        with ErrorSite(self._plan, ("data",)):
            coordinates, classes = data.coordinate_names(), data.class_names()
            found = Headings(coordinates, classes, data.label_name(), data.category_names())
            if found.categories is not None and len(found.categories) != prod(self._plan.event):
                raise ValueError(f"it names categories of {len(found.categories)} units of {self._plan.event}")
            self._check(found.coordinates)
            return found

    @property
    def shown(self) -> tuple[str, ...] | None:
        """The names of the coordinates, without characters that cannot be shown, and not too long."""
        names = self.headings.coordinates
        return None if names is None else tuple(map(_short, names))

    def coordinate(self, index: int) -> str:
        """The name of a coordinate of flattened states for pictures: that of the data, or as Python would index it."""
        return coordinate(self._plan.event, index, self.shown).replace("$", r"\$")  # which begins a formula

    def category(self, unit: int, category: int) -> str:
        """A category of a unit of flattened states as its name, or as a number."""
        names = self.headings.categories
        return _short(names[unit][category]) if names and category < len(names[unit]) else str(category)

    @property
    def are_letters(self) -> bool:
        """Whether states are text: a list of units whose categories are characters, the same for all."""
        names = self.headings.categories
        if not names or len(self._plan.event) != 1:
            return False
        return all(row == names[0] for row in names) and all(len(name) == 1 for name in names[0])

    def text(self, x: Sequence[float]) -> str:
        """A state of text as such, with characters that cannot be shown replaced by spaces."""
        names = self.headings.categories or ()
        letters = (names[unit][int(category)] for unit, category in enumerate(x))
        return "".join(letter if letter.isprintable() else " " for letter in letters)

    def label(self, label: int) -> str:
        """A label as its name, or as a number."""
        classes = self.headings.classes
        return _short(classes[label]) if classes and 0 <= label < len(classes) else str(label)


def _short(name: str) -> str:
    shown = printable(name, "")
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 3]}..."
