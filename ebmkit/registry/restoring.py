"""How a setting of the process is recorded, and put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: Puts back what was recorded; the result says whether it had changed.
Restore = Callable[[], bool]

_ABSENT = object()


def plain(read: Callable[[], Any], write: Callable[[Any], Any]) -> Restore:
    """A setting that is plain data."""
    before = read()

    def restore() -> bool:
        changed: bool = read() != before
        if changed:
            write(before)
        return changed

    return restore


def objects(read: Callable[[], Sequence[Any]], write: Callable[[list[Any]], Any]) -> Restore:
    """Objects such as functions, compared by identity: to compare them otherwise may run code of the plugin."""
    before = list(read())

    def restore() -> bool:
        now = read()
        changed = len(now) != len(before) or any(one is not other for one, other in zip(now, before, strict=True))
        if changed:
            write(before)
        return changed

    return restore


def attributes(owner: Any, names: Sequence[str]) -> Restore:
    """Attributes of a module."""

    def write(before: list[Any]) -> None:
        for name, value in zip(names, before, strict=True):
            setattr(owner, name, value)

    return objects(lambda: [getattr(owner, name, None) for name in names], write)


def names(live: dict[str, Any]) -> Restore:
    """The meaning of names. An import adds some, but it must not replace or remove any."""
    before = dict(live)

    def restore() -> bool:
        replaced = {name: value for name, value in before.items() if live.get(name, _ABSENT) is not value}
        live.update(replaced)
        return replaced != {}  # without the name of a function, which may be what was replaced

    return restore


def methods(cls: type) -> Restore:
    """The methods and other attributes of a class; some may be added, as for `names`."""
    before = dict(vars(cls))

    def restore() -> bool:
        now = vars(cls)
        replaced = {name: value for name, value in before.items() if now.get(name, _ABSENT) is not value}
        for name, value in replaced.items():
            type.__setattr__(cls, name, value)
        return replaced != {}

    return restore


def all_of(parts: list[Restore]) -> Restore:
    return lambda: sum(restore() for restore in parts) > 0  # all of them, also after the first that had changed
