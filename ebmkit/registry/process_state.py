"""State of the whole process that importing a plugin must not change, because other components depend on it.

It is recorded before the import and restored after it, whether or not the import succeeds. What cannot be restored is
listed in SECURITY.md.
"""

from __future__ import annotations

import builtins
import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from ebmkit.registry.torch_functions import forget_replacements, functions_of_torch, is_foreign

#: Puts back what was recorded; the result says whether it had changed.
Restore = Callable[[], bool]

_ABSENT = object()


@contextmanager
def process_state_kept(changed: list[str]) -> Iterator[None]:
    """Restore the state of the process afterwards; `changed` receives the names of what had been changed."""
    restore_functions = _names(vars(builtins))
    recorded = {name: record() for name, record in _STATE.items()}
    try:
        yield
    finally:
        if restore_functions():  # first, since the others call them
            changed.append("functions of Python")
        for name, restore in recorded.items():
            try:
                if restore():
                    changed.append(name)
            except Exception:  # the others are restored all the same
                changed.append(f"{name} (which could not be restored)")


# How a setting is recorded ------------------------------------------------------------------------------------------


def _value(read: Callable[[], Any], write: Callable[[Any], Any]) -> Restore:
    """A setting that is plain data."""
    before = read()

    def restore() -> bool:
        changed: bool = read() != before
        if changed:
            write(before)
        return changed

    return restore


def _objects(read: Callable[[], Sequence[Any]], write: Callable[[list[Any]], Any]) -> Restore:
    """Objects such as functions, compared by identity: to compare them otherwise may run code of the plugin."""
    before = list(read())

    def restore() -> bool:
        now = read()
        changed = len(now) != len(before) or any(one is not other for one, other in zip(now, before, strict=True))
        if changed:
            write(before)
        return changed

    return restore


def _attributes(owner: Any, names: Sequence[str]) -> Restore:
    """Attributes of a module."""

    def write(before: list[Any]) -> None:
        for name, value in zip(names, before, strict=True):
            setattr(owner, name, value)

    return _objects(lambda: [getattr(owner, name, None) for name in names], write)


def _names(live: dict[str, Any]) -> Restore:
    """The meaning of names. An import adds some, but it must not replace or remove any."""
    before = dict(live)

    def restore() -> bool:
        replaced = {name: value for name, value in before.items() if live.get(name, _ABSENT) is not value}
        live.update(replaced)
        return replaced != {}  # without the name of a function, which may be what was replaced

    return restore


def _all(parts: list[Restore]) -> Restore:
    return lambda: sum(restore() for restore in parts) > 0  # all of them, also after the first that had changed


# What is recorded ---------------------------------------------------------------------------------------------------


def _code() -> Restore:
    """Modules, and the functions of JSON and of ebmkit, which could be replaced under their own names."""
    loaded = [module for name, module in list(sys.modules.items()) if name.split(".")[0] in ("ebmkit", "json")]
    return _all([_names(sys.modules), *(_names(vars(module)) for module in loaded)])


def _environment() -> Restore:
    def write(before: dict[str, str]) -> None:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)

    return _value(lambda: dict(os.environ), write)


def _folder() -> Restore:
    try:
        return _value(os.getcwd, os.chdir)
    except OSError:  # the current folder was deleted
        return lambda: False


def _search_path() -> Restore:
    def items() -> list[Any]:
        return [sys.path, *sys.path, sys.meta_path, *sys.meta_path]

    def write(before: list[Any]) -> None:
        sys.path, sys.meta_path = path, finders
        path[:], finders[:] = items_of_path, items_of_finders

    path, finders = sys.path, sys.meta_path
    items_of_path, items_of_finders = list(path), list(finders)
    return _objects(items, write)


def _signals() -> Restore:
    if threading.current_thread() is not threading.main_thread():
        return lambda: False  # only the main thread may set them
    numbers = sorted(signal.valid_signals())

    def write(before: list[Any]) -> None:
        for number, handler in zip(numbers, before, strict=True):
            if handler is not None and signal.getsignal(number) is not handler:  # None: not set by Python
                signal.signal(number, handler)

    return _objects(lambda: [signal.getsignal(number) for number in numbers], write)


def _locale() -> Restore:
    import locale

    return _value(partial(locale.setlocale, locale.LC_ALL), partial(locale.setlocale, locale.LC_ALL))


def _filters() -> Restore:
    """Libraries add filters when they are imported, but one that turns warnings into errors would stop other code."""
    before = list(warnings.filters)

    def restore() -> bool:
        added = [each for each in warnings.filters if each not in before]
        harmless = [each for each in added if each[0] != "error"]
        stayed = [each for each in warnings.filters if each in before]  # in their order: the first that fits is used
        changed = stayed != before or len(harmless) < len(added)
        if changed:
            warnings.resetwarnings()  # also discards what was cached
            warnings.filters.extend([*harmless, *before])  # type: ignore[attr-defined]
        return changed

    return restore


def _logging() -> Restore:
    def read() -> list[Any]:
        logging: Any = sys.modules.get("logging")
        if logging is None:
            return [0, 30]  # as it will be when it is imported
        return [logging.root.manager.disable, logging.root.level, *logging.root.handlers]

    def write(before: list[Any]) -> None:
        import logging

        logging.disable(before[0])
        logging.root.setLevel(before[1])
        logging.root.handlers[:] = before[2:]

    return _objects(read, write)


def _random() -> Restore:
    """The global generators, where something may have seeded them; those that are imported later are not seeded."""
    parts = []
    python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    if python:
        parts.append(_value(python.getstate, python.setstate))
    if numpy:
        state = numpy.get_state()

        def position() -> tuple[Any, ...]:
            name, key, *rest = numpy.get_state()
            return name, key.tobytes(), *rest

        parts.append(_value(position, lambda before: numpy.set_state(state)))
    return _all(parts)


def _torch() -> Restore:
    """Precision, device, determinism and gradients; if torch was imported before, also threads and generator."""
    imported = "torch" in sys.modules

    def read() -> list[Any]:
        torch: Any = sys.modules.get("torch")
        if torch is None:
            return ["float32", "cpu", False, True]  # as it will be when it is imported
        numbers = [torch.get_num_threads(), torch.default_generator.get_state().tolist()]
        return [
            str(torch.get_default_dtype()).removeprefix("torch."),
            str(torch.get_default_device()),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_grad_enabled(),
            *(numbers if imported else ()),
        ]

    def write(before: list[Any]) -> None:
        for change, old, new in zip(_torch_setters(), before, read(), strict=False):
            if old != new:  # to set determinism imports a compiler, which takes longer than everything else here
                change(old)

    return _value(read, write)


def _torch_names() -> Restore:
    """The functions of torch, if it was imported before: otherwise `import_plugin` notices what was replaced."""
    before = functions_of_torch()

    def restore() -> bool:
        changed = forget_replacements()
        for names, name, function in before:
            if is_foreign(names.get(name)):
                names[name] = function
                changed = True
        return changed

    return restore


def _torch_setters() -> list[Callable[[Any], Any]]:
    """In the order in which `_torch` reads the settings."""
    import torch

    return [
        lambda name: torch.set_default_dtype(getattr(torch, name)),
        lambda name: torch.set_default_device(None if name == "cpu" else name),
        torch.use_deterministic_algorithms,
        torch.set_grad_enabled,
        torch.set_num_threads,
        lambda state: torch.default_generator.set_state(torch.tensor(state, dtype=torch.uint8, device="cpu")),
    ]


#: By the words that name it in messages.
_STATE: dict[str, Callable[[], Restore]] = {
    "modules or functions of ebmkit": _code,
    "functions of torch": _torch_names,
    "settings of torch": _torch,  # before the environment, since torch writes variables of its own
    "environment variables": _environment,
    "the working directory": _folder,
    "the search path of modules": _search_path,
    "the hooks of the interpreter": lambda: _attributes(
        sys, ("excepthook", "displayhook", "unraisablehook", "breakpointhook", "__stdout__", "__stderr__")
    ),
    "the recursion limit": lambda: _value(sys.getrecursionlimit, sys.setrecursionlimit),
    "the garbage collector": lambda: _value(gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    "signal handlers": _signals,
    "the locale": _locale,
    "the filters of warnings": _filters,
    "the configuration of logging": _logging,
    "global random generators": _random,
}
