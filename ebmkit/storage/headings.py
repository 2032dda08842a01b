"""The names of what is in a file of samples."""

from __future__ import annotations

import json
from typing import NamedTuple


class Headings(NamedTuple):
    """Names of coordinates, of classes, of the column of labels and of the categories of every unit, if they have
    some."""

    coordinates: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    label: str | None = None
    categories: tuple[tuple[str, ...], ...] | None = None

    @property
    def one_alphabet(self) -> bool:
        """Whether the categories of all units have the same names."""
        return self.categories is not None and all(names == self.categories[0] for names in self.categories)

    def metadata(self) -> dict[str, str]:
        """The names as JSON, for the header of a safetensors file; empty if there are none.

        A single entry, because safetensors writes several in any order, and equal runs have equal files.
        """
        categories = self.categories[:1] if self.categories and self.one_alphabet else self.categories
        entries: dict[str, object] = {"columns": self.coordinates, "classes": self.classes, "label": self.label}
        entries["categories"] = categories
        known = {name: value for name, value in entries.items() if value is not None}
        return {"names": json.dumps(known, ensure_ascii=False)} if known else {}


#: Of states without names.
PLAIN = Headings()
