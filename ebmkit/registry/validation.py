"""Validating what a plugin offers: hooks and components. The built-in components pass the same validation.

Everything that a plugin defines is looked at here, once. A class or hook that cannot be looked at makes the plugin
unusable, and what remains is plain functions, checked classes and their descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pluggy

from ebmkit.contracts.component import NAME
from ebmkit.contracts.kinds import KINDS
from ebmkit.errors.describe import describe_error, type_name
from ebmkit.errors.schema import PluginBroken
from ebmkit.registry.catalogue import MOST_COMPONENTS
from ebmkit.registry.component_check import class_trouble
from ebmkit.registry.hook_check import marked_hooks
from ebmkit.registry.hookspecs import hookimpl
from ebmkit.registry.importing import Unusable, contained, was_ctrl_c
from ebmkit.registry.offer import Offer
from ebmkit.registry.spelling import did_you_mean

if TYPE_CHECKING:
    from ebmkit.contracts.component import Component


@dataclass(frozen=True)
class Registered:
    """What a plugin offers."""

    offers: tuple[Offer, ...] = ()
    #: Its components that cannot be used, as offers that raise the reason when they are loaded.
    broken: tuple[Offer, ...] = ()
    #: What is wrong with these, all of it.
    mistakes: tuple[str, ...] = ()
    #: Its hooks.
    hooks: tuple[str, ...] = ()


def register(
    manager: pluggy.PluginManager,
    module: str,
    names: Mapping[str, Any],
    owner: str,
    changed: list[str] | None = None,
) -> Registered:
    """Register the plugin that defines `names` with pluggy, unless it fails validation. Messages call it `owner`.

    A mistake in a hook concerns every run, so it makes the plugin unusable. A mistake in a component concerns that
    component, unless no other is left. All mistakes are reported at once.

    `changed` is as in `contained`; without it they are the built-in components. These are not described before a verb
    shows them: their tests do it, and specs are read faster.
    """
    builtin = changed is None
    found, mistakes = marked_hooks(names)
    hooks = SimpleNamespace(**found)
    if not hasattr(hooks, "ebmkit_components"):
        hooks.ebmkit_components = _implicit(module, names)
    try:
        with nullcontext() if changed is None else contained(changed):
            offers = _offers(hooks.ebmkit_components(), owner, builtin)
        if mistakes or (offers.mistakes and not offers.offers):
            raise Unusable("; ".join((*mistakes, *offers.mistakes)))
        manager.register(hooks, module)
    except BaseException as error:
        if manager.is_registered(hooks):
            manager.unregister(hooks)
        if isinstance(error, Unusable) or was_ctrl_c(error):
            raise
        raise Unusable("; ".join((*mistakes, describe_error(error)))) from error
    return replace(offers, hooks=tuple(name for name in found if name != "ebmkit_components"))


def _implicit(module: str, names: Mapping[str, Any]) -> Callable[[], list[type[Component]]]:
    """The hook of a module without `ebmkit_components`: offers the components that its own package defines."""

    @hookimpl
    def ebmkit_components() -> list[type[Component]]:
        found = []
        for value in list(names.values()):
            if issubclass(type(value), type):
                defined = type.__getattribute__(value, "__dict__")  # not through methods that a metaclass may define
                package = str(defined.get("__module__")).split(".")[0]
                declared = "component_name" in defined or "component_trouble" in defined
                if declared and package == module.split(".")[0]:
                    found.append(value)
        return found

    return ebmkit_components


def _offers(offered: Any, owner: str, builtin: bool) -> Registered:
    """The offers of a plugin. Classes are checked now; those imported later, when they are imported."""
    try:
        items = list(islice(iter(offered), MOST_COMPONENTS + 1))
    except TypeError:
        raise Unusable(f"'ebmkit_components' returned an object of type {type_name(offered)}, not a list") from None
    if len(items) > MOST_COMPONENTS:
        raise Unusable(f"it has more than {MOST_COMPONENTS} components")
    offers: dict[tuple[str, str], Offer] = {}
    troubles: list[tuple[tuple[str, str], str]] = []  # kind and name, as far as they are known, and the reason
    for item in items:
        try:
            offer = _later(item, owner, builtin) if type(item) is Offer else _now(item)
        except Unusable as reason:
            troubles.append((_named(item), str(reason)))
            continue
        key = offer.kind, offer.name
        if key in offers:
            troubles.append((key, f"two of its components are both called {offer.kind} '{offer.name}'"))
        offers[key] = offer
    for key, _ in troubles:
        offers.pop(key, None)
    return Registered(
        tuple(offers.values()), _raising(troubles, owner), tuple(dict.fromkeys(reason for _, reason in troubles))
    )


def _named(item: Any) -> tuple[str, str]:
    """The kind and name that a component with a mistake was to have; empty if it cannot be known."""
    try:
        if type(item) is Offer:
            return str(item.kind), str(item.name)
        declared = vars(item) if issubclass(type(item), type) else {}
        name = declared["component_trouble"][0] if "component_trouble" in declared else item.component_name
        kind = item.component_kind
    except Exception:  # a class that cannot even be looked at
        return "", ""
    return (kind, name) if type(kind) is str and type(name) is str else ("", "")


def _raising(troubles: list[tuple[tuple[str, str], str]], owner: str) -> tuple[Offer, ...]:
    """For each component with a mistake, an offer that says so at the line that names it, with the other mistakes."""

    def failing(kind: str, name: str, reason: str) -> Callable[[], type[Component]]:
        others = "; ".join(other for key, other in troubles if key != (kind, name))

        def load() -> type[Component]:
            raise PluginBroken(
                f"{kind} '{name}' of {owner} cannot be used: {reason}",
                help=f"other mistakes in this plugin: {others}" if others else "",
            )

        return load

    return tuple(Offer(kind, name, failing(kind, name, reason)) for (kind, name), reason in troubles if kind)


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
