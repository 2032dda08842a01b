"""The first sentence of a component's docstring, read from its file: listing everything imports nothing."""

from __future__ import annotations

import re
from pathlib import Path

#: A class that `@component("name")` declares, up to the end of the first paragraph of its docstring.
_CLASS = r'^@component\("{name}"[^\n]*\)\nclass [^\n]*:\n    """(?P<text>.*?)(?:\n *\n|""")'


def first_sentence(file: Path, name: str) -> str | None:
    """The first sentence of the docstring of the component `name`; None if only importing it can tell."""
    try:
        source = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # installed without sources
        return None
    found = re.search(_CLASS.format(name=re.escape(name)), source, re.MULTILINE | re.DOTALL)
    if found is None or "\\" in found["text"]:  # escapes are left to Python
        return None
    return " ".join(line.strip() for line in found["text"].splitlines())
