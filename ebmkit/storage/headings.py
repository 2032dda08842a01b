"""The names of what is in a file of samples."""

from __future__ import annotations

import json
from typing import NamedTuple


class Headings(NamedTuple):
    """Names of coordinates and of classes, where they have some, and of the column of labels."""

    coordinates: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    label: str | None = None

    def metadata(self) -> dict[str, str]:
        """The names as JSON, for the header of a safetensors file; empty if there are none.

        A single entry, because safetensors writes several in any order, and equal runs have equal files.
        """
        entries = {"columns": self.coordinates, "classes": self.classes, "label": self.label}
        known = {name: value for name, value in entries.items() if value is not None}
        return {"names": json.dumps(known, ensure_ascii=False)} if known else {}


#: Of states without names.
PLAIN = Headings()
