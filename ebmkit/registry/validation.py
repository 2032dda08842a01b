"""Validating what a plugin offers: hooks and components. The built-in components pass the same validation.

Everything that a plugin defines is looked at here, once. A class or hook that cannot be looked at makes the plugin
unusable, and what remains is plain functions, checked classes and their descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import cache
from itertools import islice
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pluggy

from ebmkit.contracts.component import NAME
from ebmkit.contracts.kinds import KINDS
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.errors.schema import PluginBroken
from ebmkit.registry import hookspecs
from ebmkit.registry.component_check import class_trouble
from ebmkit.registry.hookspecs import hookimpl
from ebmkit.registry.importing import Unusable, contained, was_ctrl_c
from ebmkit.registry.offer import Offer
from ebmkit.registry.spelling import did_you_mean

if TYPE_CHECKING:
    from ebmkit.contracts.component import Component

#: Maximum number of components of one plugin: each is checked when the plugin is loaded.
MOST_COMPONENTS = 1000

_HOOKS = [name for name in vars(hookspecs) if name.startswith("ebmkit_")]


def register(
    manager: pluggy.PluginManager,
    module: str,
    names: Mapping[str, Any],
    owner: str,
    changed: list[str] | None = None,
) -> tuple[Offer, ...]:
    """Register the plugin that defines `names` with pluggy, unless it fails validation. Messages call it `owner`.

    `changed` is as in `contained`; without it they are the built-in components. These are not described before a verb
    shows them: their tests do it, and specs are read faster.
    """
    builtin = changed is None
    hooks = SimpleNamespace()
    try:
        vars(hooks).update(_marked_hooks(names))
        if not hasattr(hooks, "ebmkit_components"):
            hooks.ebmkit_components = _implicit(module, names)
        manager.register(hooks, module)
        _check_hooks(manager, hooks)
        with nullcontext() if changed is None else contained(changed):
            return _offers(hooks.ebmkit_components(), owner, builtin)
    except BaseException as error:
        if manager.is_registered(hooks):
            manager.unregister(hooks)
        if isinstance(error, Unusable) or was_ctrl_c(error):
            raise
        raise Unusable(describe_error(error)) from error


def _marked_hooks(names: Mapping[str, Any]) -> dict[str, FunctionType]:
    """The hooks among the names of a module: plain functions, so that pluggy looks at nothing else of the plugin."""
    found = {}
    for name, value in list(names.items()):
        marker = vars(value).get("ebmkit_impl") if type(value) is FunctionType else None
        if marker is not None:
            if marker["wrapper"] or marker["hookwrapper"]:
                raise Unusable(f"the hook '{name}' is a wrapper, which ebmkit does not call; remove the option")
            found[name] = value
        elif name in _HOOKS and callable(value):  # pluggy would skip it in silence
            raise Unusable(f"'{name}' lacks the marker @hookimpl, which belongs to a function")
    return found


def _check_hooks(manager: pluggy.PluginManager, hooks: SimpleNamespace) -> None:
    """Check names: pluggy does not report a misspelt hook."""
    for caller in manager.get_hookcallers(hooks) or ():
        if caller.spec is None:
            raise Unusable(f"there is no hook '{caller.name}'; {did_you_mean(caller.name, _HOOKS)}".rstrip("; "))


def _implicit(module: str, names: Mapping[str, Any]) -> Callable[[], list[type[Component]]]:
    """The hook of a module without `ebmkit_components`: offers the components that its own package defines."""

    @hookimpl
    def ebmkit_components() -> list[type[Component]]:
        found = []
        for value in list(names.values()):
            if issubclass(type(value), type):
                defined = type.__getattribute__(value, "__dict__")  # not through methods that a metaclass may define
                package = str(defined.get("__module__")).split(".")[0]
                if "component_name" in defined and package == module.split(".")[0]:
                    found.append(value)
        return found

    return ebmkit_components


def _offers(offered: Any, owner: str, builtin: bool) -> tuple[Offer, ...]:
    """The offers of a plugin. Classes are checked now; those imported later, when they are imported."""
    try:
        items = list(islice(iter(offered), MOST_COMPONENTS + 1))
    except TypeError:
        raise Unusable(f"'ebmkit_components' returned an object of type {type_name(offered)}, not a list") from None
    if len(items) > MOST_COMPONENTS:
        raise Unusable(f"it has more than {MOST_COMPONENTS} components")
    offers: dict[tuple[str, str], Offer] = {}
    for item in items:
        offer = _later(item, owner, builtin) if type(item) is Offer else _now(item)
        if (offer.kind, offer.name) in offers:
            raise Unusable(f"two of its components are both called {offer.kind} '{offer.name}'")
        offers[offer.kind, offer.name] = offer
    return tuple(offers.values())


def _trouble(cls: Any) -> str:
    """What is wrong with a plugin's class, including what the verbs would show of it; empty if nothing."""
    from ebmkit.registry.description import describe  # both need pydantic, which listing the built-ins does not
    from ebmkit.registry.parameter_check import parameter_trouble

    if trouble := class_trouble(cls):
        return trouble
    try:
        if trouble := parameter_trouble(cls):
            return trouble
        describe(cls)
    except Exception as error:
        return f"the parameters of {cls.__qualname__} cannot be described: {describe_error(error)}"
    return ""


def _now(cls: Any) -> Offer:
    if trouble := _trouble(cls):
        raise Unusable(trouble)
    return Offer(cls.component_kind, cls.component_name, lambda: cls)


def _later(offer: Offer, owner: str, builtin: bool) -> Offer:
    """The offer with a `load` that checks the class, once."""
    if type(offer.kind) is not str or offer.kind not in KINDS:
        raise Unusable(f"there is no kind '{offer.kind}'; {did_you_mean(str(offer.kind), KINDS)}".rstrip("; "))
    if not (type(offer.name) is str and NAME.match(offer.name)):
        raise Unusable(f"it offers {offer.kind} {offer.name!r}, which is not the name of a component")

    @cache
    def load() -> type[Component]:
        try:
            return _loaded(offer, builtin)
        except Unusable as reason:
            raise PluginBroken(f"{owner} cannot be used: {reason}") from reason

    # What a plugin would say without importing the class is not asked for: every verb that shows it imports it.
    return Offer(offer.kind, offer.name, load, offer.summarise if builtin else None)


def _loaded(offer: Offer, builtin: bool) -> type[Component]:
    what = f"{offer.kind} '{offer.name}'"
    try:
        with nullcontext() if builtin else contained([]):
            cls = offer.load()
            reason = class_trouble(cls) if builtin else _trouble(cls)
    except BaseException as error:
        if was_ctrl_c(error):
            raise
        raise Unusable(f"loading {what} raised {describe_error(error)}") from error
    if reason:
        raise Unusable(reason)
    if (cls.component_kind, cls.component_name) != (offer.kind, offer.name):
        raise Unusable(f"{what} is offered, but its class is {cls.component_kind} '{cls.component_name}'")
    return cls
