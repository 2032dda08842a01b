"""Conditions on the columns of runs: `objective=nce`, `kl_divergence<0.1`, `status!=finished`."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ebmkit.store.columns import Value, value_of
from ebmkit.store.entry import Entry

FORM = re.compile(r"\s*([^\s<>=!]+)\s*(<=|>=|!=|==|<|>|=)\s*(.*?)\s*")
ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """`COLUMN OPERATOR VALUE`. A run that does not have the column satisfies no condition on it."""

    column: str
    operator: str
    value: str

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Raises ValueError for text of another form."""
        found = FORM.fullmatch(text)
        if not found or not found[3]:
            raise ValueError(f"'{text}' is not a condition such as objective=nce, kl_divergence<0.1 or seed>=3")
        return cls(*found.groups())

    def __str__(self) -> str:
        return f"{self.column}{self.operator}{self.value}"

    def holds(self, entry: Entry) -> bool:
        """Whether a run satisfies it. Texts may contain the wildcards `*` and `?`, and are ordered by the alphabet."""
        found = value_of(entry, self.column)
        if found is None:
            return False
        wanted = _as_type_of(found, self.value)
        if self.operator in ORDERED:
            return isinstance(wanted, str) == isinstance(found, str) and ORDERED[self.operator](found, wanted)
        same = _matches(found, wanted) if isinstance(found, str) and isinstance(wanted, str) else found == wanted
        return same != (self.operator == "!=")


def _matches(text: str, pattern: str) -> bool:
    """Without the brackets of file name patterns, which lists are written with."""
    wildcards = {"*": ".*", "?": "."}
    return bool(re.fullmatch("".join(wildcards.get(letter, re.escape(letter)) for letter in pattern), text, re.DOTALL))


def _as_type_of(found: float | str, text: str) -> Value:
    """The text as a number where a number is compared; lists and truth values in the form that columns give them."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(found, str):
        return text if isinstance(value, float | int) and not isinstance(value, bool) else _text(value)
    return float(value) if isinstance(value, float | int) and not isinstance(value, bool) else text


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
