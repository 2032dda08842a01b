"""Importing and validating a plugin. The built-in components pass the same validation."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_type_hints

import pluggy

from ebmkit.contracts.component import Component
from ebmkit.contracts.kinds import KINDS
from ebmkit.errors.schema import PluginBroken
from ebmkit.registry import hookspecs
from ebmkit.registry.abilities import unknown_ability
from ebmkit.registry.hookspecs import API_VERSION, hookimpl
from ebmkit.registry.offer import Offer
from ebmkit.registry.spelling import did_you_mean, nearest

if TYPE_CHECKING:
    from ebmkit.registry.discovery import Plugin


class Unusable(Exception):
    """Why a plugin cannot be used. It is reported at the line of the spec that names the plugin."""


class _Implicit:
    """Stands in for a module without `ebmkit_components`: offers the components that its own package defines."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    @hookimpl
    def ebmkit_components(self) -> tuple[type[Component], ...]:
        package = self.module.__name__.split(".")[0]
        return tuple(
            value
            for value in vars(self.module).values()
            if isinstance(value, type) and "component_name" in vars(value) and value.__module__.split(".")[0] == package
        )


def import_plugin(plugin: Plugin) -> ModuleType:
    """The module of the plugin. Any exception of the plugin is raised as Unusable."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # output of a plugin must not appear in --json output
            module = _import_file(plugin) if isinstance(plugin.target, Path) else plugin.target.load()  # type: ignore[union-attr]
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit included: a plugin must not stop ebmkit
        raise Unusable(f"importing it raised {type(error).__name__}: {error}") from error
    spoken = getattr(module, "EBMKIT_API", API_VERSION)
    if spoken != API_VERSION:
        raise Unusable(f"it was written for plugin API {spoken}, but this ebmkit has API {API_VERSION}")
    if not isinstance(module, ModuleType):
        raise Unusable(f"its entry point must name a module, not {type(module).__name__}")
    if not module.__file__:
        raise Unusable("its module has no file: a package needs an __init__.py")
    return module


def register(manager: pluggy.PluginManager, module: ModuleType, owner: str) -> tuple[Offer, ...]:
    """Register the plugin with pluggy, and unregister it if it fails validation. Messages call it `owner`."""
    parts: list[Any] = [module]
    if not hasattr(module, "ebmkit_components"):
        parts.append(_Implicit(module))
    try:
        for part in parts:
            manager.register(part)
            _check_hooks(manager, part)
        return _offers(manager, parts[-1], owner)
    except BaseException as error:
        for part in parts:
            if manager.is_registered(part):
                manager.unregister(part)
        if isinstance(error, (Unusable, KeyboardInterrupt)):
            raise
        raise Unusable(f"{type(error).__name__}: {' '.join(str(error).split())}") from error


def _import_file(plugin: Plugin) -> ModuleType:
    import importlib.util

    assert isinstance(plugin.target, Path)
    name = f"ebmkit_plugin_{plugin.namespace}"
    spec = importlib.util.spec_from_file_location(name, plugin.target)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and type hints look their module up by name
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _check_hooks(manager: pluggy.PluginManager, part: Any) -> None:
    """Check hooks: pluggy reports neither a misspelt hook nor one without its marker."""
    known = [name for name in vars(hookspecs) if name.startswith("ebmkit_")]
    for caller in manager.get_hookcallers(part) or ():
        if caller.spec is None:
            raise Unusable(f"there is no hook '{caller.name}'; {did_you_mean(caller.name, known)}".rstrip("; "))
    implemented = {caller.name for caller in manager.get_hookcallers(part) or ()}
    for name in known:
        if callable(getattr(part, name, None)) and name not in implemented:
            raise Unusable(f"'{name}' lacks the marker @hookimpl")


def _offers(manager: pluggy.PluginManager, part: Any, owner: str) -> tuple[Offer, ...]:
    """The offers of a plugin. Classes are checked now; those imported later, when they are imported."""
    (hook,) = [impl for impl in manager.hook.ebmkit_components.get_hookimpls() if impl.plugin is part]
    offered: Any = hook.function()
    offers: dict[tuple[str, str], Offer] = {}
    for item in offered:
        offer = _later(item, owner) if isinstance(item, Offer) else _now(item)
        if offer.kind not in KINDS:
            raise Unusable(f"there is no kind '{offer.kind}'; {did_you_mean(offer.kind, KINDS)}".rstrip("; "))
        if (offer.kind, offer.name) in offers:
            raise Unusable(f"two of its components are both called {offer.kind} '{offer.name}'")
        offers[offer.kind, offer.name] = offer
    return tuple(offers.values())


def _now(cls: type[Component]) -> Offer:
    if trouble := _class_trouble(cls):
        raise Unusable(trouble)
    return Offer(cls.component_kind, cls.component_name, lambda: cls)


def _later(offer: Offer, owner: str) -> Offer:
    """The offer with a `load` that checks the class, once."""

    @cache
    def load() -> type[Component]:
        try:
            return _loaded(offer)
        except Unusable as reason:
            raise PluginBroken(f"{owner} cannot be used: {reason}") from reason

    return Offer(offer.kind, offer.name, load, offer.summarise)


def _loaded(offer: Offer) -> type[Component]:
    what = f"{offer.kind} '{offer.name}'"
    try:
        cls = offer.load()
    except Exception as error:
        raise Unusable(f"loading {what} raised {type(error).__name__}: {error}") from error
    if trouble := _class_trouble(cls):
        raise Unusable(trouble)
    if (cls.component_kind, cls.component_name) != (offer.kind, offer.name):
        raise Unusable(f"{what} is offered, but its class is {cls.component_kind} '{cls.component_name}'")
    return cls


def digest(module: ModuleType) -> str:
    """SHA-256 over the module's Python files, for the run's lock."""
    import hashlib

    file = Path(module.__file__ or "")
    files = sorted(file.parent.rglob("*.py")) if file.name == "__init__.py" else [file]
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(file.parent).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _class_trouble(cls: Any) -> str:
    """What is wrong with a class to be registered; empty if nothing."""
    if not (isinstance(cls, type) and issubclass(cls, Component)):
        return f"{cls!r} is not a component class"
    if "component_name" not in vars(cls):
        return f"{cls.__qualname__} lacks @component(...)"
    if KINDS.get(cls.component_kind) not in cls.__mro__:
        return f"{cls.__qualname__} is of no known kind"
    if inspect.isabstract(cls):
        missing = sorted(getattr(cls, "__abstractmethods__", ()))
        meant = nearest(missing[0], [name for name in vars(cls) if not name.startswith("_")])
        slip = f"; rename '{meant}' to '{missing[0]}' if that was meant" if meant else ""
        return f"{cls.__qualname__} does not implement {', '.join(missing)}{slip}"
    if bare := _without_annotation(cls):
        words = f"write {bare}: type = ..., or {bare}: ClassVar[type] = ... for a constant"
        return f"{cls.__qualname__}.{bare} has no annotation, so it is not a parameter: {words}"
    try:
        get_type_hints(cls, include_extras=True)
    except Exception as error:
        return f"the annotations of {cls.__qualname__} cannot be read: {error}"
    needed: Any = cls.needs_packages
    if not (isinstance(needed, Mapping) and all(isinstance(word, str) for pair in needed.items() for word in pair)):
        return f"needs_packages of {cls.__qualname__} must map packages to requirements: {{'zuko': 'zuko>=1.4'}}"
    return unknown_ability(cls)


def _without_annotation(cls: type[Component]) -> str | None:
    """A class attribute that was probably meant as a parameter; those that the kind declares need no annotation."""
    kind = KINDS[cls.component_kind]
    # An annotation of the kind without a value (`count: int`) is not an attribute, but it is a declaration.
    annotated = {name for base in (cls, *kind.__mro__) for name in inspect.get_annotations(base)}
    for name, value in list(vars(cls).items()):
        plain = not (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
        declared = name in annotated or hasattr(kind, name) or name.startswith(("_", "component_"))
        if plain and not declared:
            return name
    return None
