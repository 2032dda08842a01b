"""Exceptions and values of foreign code in words. Methods of such a value may raise, so none is relied on."""

from __future__ import annotations

from typing import Any

#: Maximum number of characters of a foreign text that is looked at.
MOST_TEXT = 10_000
#: Maximum length of a description.
LONGEST = 300


def describe_error(error: BaseException) -> str:
    """`ValueError: what it says`, on one line, for any exception: also for one that cannot be printed."""
    said = " ".join(text_of(error).split())
    if len(said) > LONGEST:
        said = f"{said[: LONGEST - 80]} ... {said[-80:]}"
    return f"{type_name(error)}: {said}" if said else type_name(error)


def text_of(error: BaseException) -> str:
    """What `str` gives for an exception, as a plain string; if it cannot be printed, a sentence that says so."""
    try:
        # `__str__` may return an instance of a subclass of str, whose methods are foreign as well.
        text = str.__str__(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as second:
        return f"its message cannot be shown, because printing it raised {type_name(second)}"
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1000]} ... {text[-1000:]}"


def type_name(value: Any) -> str:
    """The name of a value's class. A metaclass may hide `__name__`, so it is read from `type` itself."""
    name: str = vars(type)["__name__"].__get__(type(value))
    return name[:100]
