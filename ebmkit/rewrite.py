"""Changing the text of a spec: comments and everything that is not changed stay as they are."""

from __future__ import annotations

import io
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from ruamel.yaml import YAML

from ebmkit.flags import set_value, unset_value
from ebmkit.place import Source
from ebmkit.text import parse


def rewrite(text: str, sets: Sequence[str] = (), unsets: Sequence[str] = ()) -> str:
    """The text with `--unset` and `--set` applied.

    What a change means is decided by the reader's own rules; ruamel's round trip carries it into the text. It keeps
    comments but not the spaces that people align with, so lines that it did not change are taken from the original.
    """
    if not (sets or unsets):
        return text
    root = parse(Source("spec", text))
    for flag in unsets:
        root = unset_value(root, Source("--unset", flag))
    for flag in sets:
        root = set_value(root, Source("--set", flag))
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    document = yaml.load(text)
    before = _dump(yaml, document)
    _carry(document, root.plain())
    after = _dump(yaml, document)
    original = text.splitlines()
    if len(original) != len(before):
        return "\n".join(after) + "\n"
    lines: list[str] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        lines += original[start:end] if kind == "equal" else after[new_start:new_end]
    return "\n".join(lines) + "\n"


def _dump(yaml: YAML, document: Any) -> list[str]:
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue().splitlines()


def _carry(old: Any, new: Any) -> None:
    """Make `old` equal to `new`, touching only what differs."""
    for key in [key for key in old if key not in new]:
        del old[key]
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict):
            _carry(old[key], value)
        elif key not in old or old[key] != value:
            old[key] = value
