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

from ebmkit.registry.library_state import generators, logging_settings, numpy_settings, torch_names, torch_settings
from ebmkit.registry.restoring import Restore, all_of, attributes, methods, names, objects, plain

_STAYS = " (which cannot be undone)"


@contextmanager
def process_state_kept(changed: list[str]) -> Iterator[None]:
    """Restore the state of the process afterwards; `changed` receives the names of what had been changed."""
    restore_functions = names(vars(builtins))
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
                changed.append(name + _STAYS)


def changes_in_words(changed: Sequence[str]) -> str:
    """What messages say of these changes."""
    if not changed:
        return ""
    stays = any(name.endswith(_STAYS) for name in changed)
    return f"importing it changed {', '.join(changed)}" + ("" if stays else ", which was undone")


def _code() -> Restore:
    """Modules, and the functions and classes of JSON and of ebmkit, which could be replaced under their own names."""
    loaded = [module for name, module in list(sys.modules.items()) if name.split(".")[0] in ("ebmkit", "json")]
    defined = {value for each in loaded for value in vars(each).values() if _is_own_class(value)}
    return all_of(
        [names(sys.modules), *(names(vars(module)) for module in loaded), *(methods(each) for each in defined)]
    )


def _is_own_class(value: Any) -> bool:
    return issubclass(type(value), type) and str(vars(value).get("__module__")).startswith(("ebmkit.", "json."))


def _environment() -> Restore:
    def write(before: dict[str, str]) -> None:
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)

    return plain(lambda: dict(os.environ), write)


def _folder() -> Restore:
    try:
        return plain(os.getcwd, os.chdir)
    except OSError:  # the current folder was deleted
        return lambda: False


def _tracing() -> Restore:
    def write(before: list[Any]) -> None:
        sys.settrace(before[0])
        sys.setprofile(before[1])

    return objects(lambda: [sys.gettrace(), sys.getprofile()], write)


def _mask() -> int:
    mask = os.umask(0o077)  # it can only be read by setting it
    os.umask(mask)
    return mask


def _search_path() -> Restore:
    def items() -> list[Any]:
        return [sys.path, *sys.path, sys.meta_path, *sys.meta_path]

    def write(before: list[Any]) -> None:
        sys.path, sys.meta_path = path, finders
        path[:], finders[:] = items_of_path, items_of_finders

    path, finders = sys.path, sys.meta_path
    items_of_path, items_of_finders = list(path), list(finders)
    return objects(items, write)


def _signals() -> Restore:
    if threading.current_thread() is not threading.main_thread():
        return lambda: False  # only the main thread may set them
    numbers = sorted(signal.valid_signals())

    def write(before: list[Any]) -> None:
        for number, handler in zip(numbers, before, strict=True):
            if handler is not None and signal.getsignal(number) is not handler:  # None: not set by Python
                signal.signal(number, handler)

    return objects(lambda: [signal.getsignal(number) for number in numbers], write)


def _threads() -> Restore:
    """Threads that Python waits for at exit. They cannot be ended."""
    before = set(threading.enumerate())

    def restore() -> bool:
        if any(not thread.daemon for thread in threading.enumerate() if thread not in before):
            raise RuntimeError("a thread is running")
        return False

    return restore


def _locale() -> Restore:
    import locale

    return plain(partial(locale.setlocale, locale.LC_ALL), partial(locale.setlocale, locale.LC_ALL))


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


#: By the words that name it in messages.
_STATE: dict[str, Callable[[], Restore]] = {
    "modules, functions or classes of ebmkit": _code,
    "functions of torch": torch_names,
    "settings of torch": torch_settings,  # before the environment, since torch writes variables of its own
    "settings of numpy": numpy_settings,
    "environment variables": _environment,
    "the working directory": _folder,
    "the search path of modules": _search_path,
    "the hooks of the interpreter": lambda: attributes(
        sys, ("excepthook", "displayhook", "unraisablehook", "breakpointhook", "__stdout__", "__stderr__")
    ),
    "the tracing of Python": _tracing,
    "the recursion limit": lambda: plain(sys.getrecursionlimit, sys.setrecursionlimit),
    "the mask of new files": lambda: plain(_mask, os.umask),
    "the garbage collector": lambda: plain(gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
    "signal handlers": _signals,
    "threads": _threads,
    "the locale": _locale,
    "the filters of warnings": _filters,
    "the configuration of logging": logging_settings,
    "global random generators": generators,
}
