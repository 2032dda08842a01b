"""Importing the module of a plugin, so that a failure or a side effect of the import concerns this plugin only."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from ebmkit.contracts.component import mistakes_marked
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.registry.at_hand import AtHand
from ebmkit.registry.code_files import digest
from ebmkit.registry.edited import discard_compiled, remember, was_edited
from ebmkit.registry.hookspecs import API_VERSION
from ebmkit.registry.plugin_output import output_on_stderr
from ebmkit.registry.process_state import process_state_kept
from ebmkit.registry.slow_calls import SlowCalls
from ebmkit.registry.torch_functions import replaced_by

if TYPE_CHECKING:
    from ebmkit.registry.discovery import Plugin


class Unusable(Exception):
    """Why a plugin cannot be used: one reason or several, reported at the line of the spec that names the plugin."""

    def __init__(self, *reasons: str) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class Imported(NamedTuple):
    """The module of a plugin, as the names that it defines."""

    name: str
    names: dict[str, Any]
    sha256: str


@contextmanager
def contained(changed: list[str]) -> Iterator[None]:
    """Around code of a plugin that should only define something: it prints on stderr, and changes of the process are
    undone; `changed` receives their names. `os._exit` raises an exception, which names the plugin."""
    with process_state_kept(changed), output_on_stderr(), _exit_refused():
        yield


@contextmanager
def _exit_refused() -> Iterator[None]:
    """Within this context only ebmkit itself may end the process at once, as it does at Ctrl-C; and processes that were
    forked."""
    leave, process = os._exit, os.getpid()

    def refuse(status: int) -> None:
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        if os.getpid() != process or caller.partition(".")[0] == "ebmkit":
            leave(status)
        raise SystemExit(f"it called os._exit({status})")

    os._exit = refuse  # type: ignore[assignment]
    try:
        yield
    finally:
        os._exit = leave


def import_plugin(plugin: Plugin, changed: list[str]) -> Imported:
    """Import a plugin. Any exception that it raises becomes Unusable; `changed` is as in `contained`."""
    if isinstance(plugin.target, AtHand):
        return Imported(module_name(plugin), plugin.target.names(), plugin.target.sha256)
    top = module_name(plugin).partition(".")[0]
    if plugin.is_packaged and was_edited(top, _package_digest(top)):
        discard_compiled([name for name in sys.modules if name.partition(".")[0] == top])
        forget(plugin, ())
    try:
        with _named_if_slow(plugin), contained(changed), mistakes_marked():
            module = _module(plugin)
    except BaseException as error:  # SystemExit included: a plugin must not stop ebmkit
        if was_ctrl_c(error):
            raise
        raise Unusable(f"importing it raised {describe_error(error)}") from error
    if not issubclass(type(module), ModuleType):
        raise Unusable(f"its entry point must name a module, not an object of type {type_name(module)}")
    names = ModuleType.__getattribute__(module, "__dict__")  # not through methods that the module may define
    _check_version(names.get("EBMKIT_API", API_VERSION))
    _check_attributes(module, names)
    if replaced := replaced_by(str(names.get("__file__"))):
        several = f" and {len(replaced) - 1} more functions" if len(replaced) > 1 else ""
        raise Unusable(f"importing it replaced {replaced[0]}{several}, which all other components use")
    if plugin.is_packaged:
        remember(top, _package_digest(top))
    if not (file := names.get("__file__")):
        raise Unusable("its module has no file: a package needs an __init__.py")
    try:
        return Imported(module_name(plugin), names, digest(Path(file)))
    except (OSError, TypeError, ValueError) as error:
        raise Unusable(f"its files cannot be read: {describe_error(error)}") from error


def _package_digest(name: str) -> str:
    """The digest of an imported top-level package; empty if it has no file that can be read."""
    file = getattr(sys.modules.get(name), "__file__", None)
    try:
        return digest(Path(file)) if file else ""
    except (OSError, TypeError, ValueError):
        return ""


@contextmanager
def _named_if_slow(plugin: Plugin) -> Iterator[None]:
    stderr = sys.stderr  # that of the user, not what the plugin makes of it
    slow = SlowCalls(lambda line: print(line, file=stderr, flush=True), "Ctrl-C ends ebmkit")
    slow.begin(f"importing {plugin.label}")
    with slow.watched():
        yield


def forget(plugin: Plugin, before: Collection[str]) -> None:
    """Remove the modules of a plugin that cannot be used: other code, such as `inspect`, looks at all modules.

    Those that were imported `before` stay: the entry point may name any module.
    """
    package = module_name(plugin).partition(".")[0]
    for name in [name for name in sys.modules if name.partition(".")[0] == package and name not in before]:
        del sys.modules[name]


def was_ctrl_c(error: BaseException) -> bool:
    """Whether the user interrupted the program. In verbs Ctrl-C raises nothing, so there it was the plugin itself."""
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def module_name(plugin: Plugin) -> str:
    """The name under which the module of a plugin is imported."""
    if isinstance(plugin.target, Path):
        return plugin.module or f"ebmkit_plugin_{plugin.namespace}"
    if isinstance(plugin.target, AtHand):
        return f"ebmkit_plugin_{plugin.namespace}"
    if isinstance(plugin.target, ModuleType):
        return plugin.target.__name__
    return plugin.target.value.partition(":")[0].strip() if plugin.target else ""


def _check_version(spoken: Any) -> None:
    if type(spoken) is not int:
        raise Unusable(f"its EBMKIT_API is an object of type {type_name(spoken)}, but an integer is expected")
    if spoken != API_VERSION:
        raise Unusable(f"it was written for plugin API {spoken}, but this ebmkit has API {API_VERSION}")


def _check_attributes(module: ModuleType, names: dict[str, Any]) -> None:
    """A module stays among all modules, where other code asks for names that it may lack."""
    if type(module).__getattribute__ is not ModuleType.__getattribute__:
        raise Unusable(f"its module is of the type {type_name(module)}, which has its own __getattribute__")
    try:
        if "__getattr__" in names:
            names["__getattr__"]("__ebmkit__")
    except AttributeError:
        pass
    except BaseException as error:
        raise Unusable(f"__getattr__ of its module raised {describe_error(error)}, not AttributeError") from error


def _module(plugin: Plugin) -> Any:
    """What the target names, imported; an entry point may name something else than a module."""
    if isinstance(plugin.target, Path):
        return _import_file(plugin, plugin.target)
    return plugin.target if isinstance(plugin.target, ModuleType) else plugin.target.load()  # type: ignore[union-attr]


def _import_file(plugin: Plugin, target: Path) -> ModuleType:
    import importlib.util

    from ebmkit.registry.source_package import source_file

    name = module_name(plugin).partition(".")[0]
    file = source_file(target, name) if plugin.module else target
    assert file is not None  # as was checked when the folder was read
    if plugin.module and not comes_from(sys.modules.get(name), target):
        where = getattr(sys.modules[name], "__file__", "Python itself")
        raise Unusable(f"a module '{name}' was already imported from {where}; rename the package, or start again")
    if plugin.module and name in sys.modules:  # for another entry point of the same folder
        return importlib.import_module(plugin.module)
    inside = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and type hints look their module up by name
    with _nothing_compiled():
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        return importlib.import_module(plugin.module) if plugin.module else module


@contextmanager
def _nothing_compiled() -> Iterator[None]:
    """Compiled code is not written: a file that is edited within a second would be taken for the one before."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def comes_from(module: ModuleType | None, folder: Path) -> bool:
    """Whether a module, if it was imported at all, came from a folder."""
    file = getattr(module, "__file__", None)
    return module is None or (file is not None and Path(file).resolve().is_relative_to(folder.resolve()))
