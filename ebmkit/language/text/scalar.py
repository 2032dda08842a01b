"""The meaning of unquoted YAML scalars, and the form in which messages quote values."""

from __future__ import annotations

import math
import re
from typing import Any, TypeAlias

Scalar: TypeAlias = bool | int | float | str | None

_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SPECIAL = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?\Z")
_UNDERSCORED = re.compile(r"[-+]?[0-9][0-9_.eE+-]*\Z")
_OTHER_BASE = re.compile(r"[-+]?0[xob][0-9a-fA-F_]+\Z", re.IGNORECASE)


def plain_scalar(text: str) -> Scalar:
    """The value of an unquoted scalar in YAML 1.2.

    Raises ValueError where parsers disagree, and OverflowError where a number is too large.
    """
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    if _INT.match(text):
        digits = text.lstrip("+-")
        if len(digits) > 1 and digits.startswith("0"):
            raise ValueError(f"'{text}' is decimal to some parsers and octal to others")
        if len(digits) > 19 or not -(2**63) <= int(text) < 2**63:
            raise OverflowError(f"'{text}' does not fit into 64 bits")
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        if math.isinf(number):
            raise OverflowError(f"'{text}' is larger than the largest floating-point number")
        return number
    if _DATE.match(text):
        raise ValueError(f"'{text}' is a date to some parsers and a string to others")
    if ("_" in text and _UNDERSCORED.match(text)) or _OTHER_BASE.match(text):
        raise ValueError(f"'{text}' is a number to some parsers and a string to others")
    return text


def show(value: Any) -> str:
    """A short form of a value in YAML notation, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        inside = ", ".join(show(item) for item in value)
        return f"[{inside}]" if len(inside) <= 40 else "a list"
    if isinstance(value, float) and not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    text = repr(value)
    return text if len(text) <= 40 else text[:36] + "..." + text[-1]
