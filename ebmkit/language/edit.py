"""Editing the text of a spec: comments and all unchanged text are preserved."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any

from ruamel.yaml import YAML

from ebmkit.errors.source import Source
from ebmkit.language.flags import set_value, unset_value
from ebmkit.language.text import parse


def rewrite(text: str, sets: Sequence[str] = (), unsets: Sequence[str] = (), extends: str | None = None) -> str:
    """The text with `--unset` and `--set` applied, and with another base if the text moves to another folder.

    Changes are interpreted by the same rules as flags, and ruamel's round trip carries them into the text. It keeps
    comments but not the spaces used for alignment, so unchanged lines are taken from the original.
    """
    if not (sets or unsets or extends):
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
    wanted = root.plain() | ({"extends": extends} if extends else {})
    _carry(document, wanted, Counter(map(id, _mappings(document))))
    after = _dump(yaml, document)
    original = text.splitlines()
    line_end = "\r\n" if "\r\n" in text else "\n"
    if len(original) != len(before):
        return line_end.join(after) + line_end
    lines: list[str] = []
    for kind, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        lines += original[start:end] if kind == "equal" else after[new_start:new_end]
    return line_end.join(lines) + line_end


def _dump(yaml: YAML, document: Any) -> list[str]:
    out = io.StringIO()
    yaml.dump(document, out)
    return out.getvalue().splitlines()


def _mappings(value: Any) -> Iterator[Any]:
    """All mappings of a document; a mapping repeated by aliases is yielded each time."""
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _mappings(child)


def _carry(old: Any, new: Any, uses: Counter[int]) -> None:
    """Make `old` equal to `new`, changing only what differs. Values repeated by aliases are replaced, not modified."""
    for key in [key for key in old if key not in new]:
        del old[key]
    for key, value in new.items():
        if isinstance(value, dict) and isinstance(old.get(key), dict) and uses[id(old[key])] == 1:
            _carry(old[key], value, uses)
        elif key not in old or old[key] != value:
            old[key] = value
