"""Objects of a notebook or a script as a plugin: classes, hooks, and energies without a class of their own."""

from __future__ import annotations

import hashlib
import inspect
import re
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ebmkit.errors.describe import type_name
from ebmkit.errors.schema import PluginBroken
from ebmkit.registry.energy_at_hand import is_network, model_of
from ebmkit.registry.hookspecs import hookimpl

if TYPE_CHECKING:
    from ebmkit.contracts.component import Component

#: Stands for the hash of code whose source Python cannot find, such as that of a class typed into an interpreter.
UNKNOWN = "source unknown"
#: Addresses in the text of a torch module.
_ADDRESS = re.compile(r"0x[0-9a-f]+")


@dataclass
class AtHand:
    """The objects of one namespace, in the order in which they were passed."""

    #: The object and its component, by the identity of the object. Components of classes are these classes.
    components: dict[int, tuple[Any, type[Component]]] = field(default_factory=dict)
    hooks: dict[str, FunctionType] = field(default_factory=dict)

    def add(self, one: Any) -> None:
        """One more object. Raises PluginBroken if it is none that can be used."""
        if isinstance(one, FunctionType) and hasattr(one, "ebmkit_impl"):
            self.hooks[one.__name__] = one
        elif isinstance(one, type):
            self.components[id(one)] = one, one  # its other conditions are checked when it is registered
        elif callable(one) and not hasattr(one, "component_kind"):
            self.components.setdefault(id(one), (one, model_of(one, self._free_name(one))))
        else:
            raise PluginBroken(
                f"'plugins' contains an object of type {type_name(one)}, but expected are files, modules, component "
                "classes, hooks and energies, that is torch modules or functions"
            )

    def _free_name(self, one: Any) -> str:
        """The name of an energy, numbered if there are several of this name."""
        name = _snake(one.__name__ if isinstance(one, FunctionType) else type(one).__name__)
        taken = {cls.component_name for _, cls in self.components.values() if hasattr(cls, "component_name")}
        numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
        return name if name not in taken else next(each for each in numbered if each not in taken)

    def names(self) -> dict[str, Any]:
        """The names that a module with these objects would define."""
        classes = [cls for _, cls in self.components.values()]

        @hookimpl
        def ebmkit_components() -> list[type[Component]]:
            return classes

        return {**self.hooks, "ebmkit_components": ebmkit_components}

    @property
    def shown(self) -> str:
        """The objects as Python might pass them: `MySampler, net`."""
        names = [one.__name__ if isinstance(one, type) else _variable(one) for one, _ in self.components.values()]
        return ", ".join([*names, *self.hooks])

    @property
    def sha256(self) -> str:
        """SHA-256 of the sources; `UNKNOWN` if one of them cannot be found."""
        found = [_source(one) for one, _ in self.components.values()] + [_source(hook) for hook in self.hooks.values()]
        if None in found:
            return UNKNOWN
        # Sorted: they may be passed in another order next time.
        return hashlib.sha256("\0".join(sorted(map(str, found))).encode()).hexdigest()


def _variable(one: Any) -> str:
    """A name for an energy in messages. That of its variable is not known."""
    return one.__name__ if isinstance(one, FunctionType) and one.__name__.isidentifier() else _snake(type(one).__name__)


def _snake(name: str) -> str:
    """`MyNet` -> `my_net`; `energy` for what has no usable name, such as a lambda."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
    return words[:48] if re.match(r"[a-z][a-z0-9_]*\Z", words) and words != "function" else "energy"


def _source(one: Any) -> str | None:
    """The source of a class, function or torch module, of the latter with its layers; None if it cannot be found."""
    if is_network(one):
        code = _source(type(one))
        return code and f"{code}\0{_ADDRESS.sub('', str(one))}"
    if isinstance(one, FunctionType) and one.__name__ == "<lambda>":
        return None  # its source would be that of the whole statement
    try:
        return inspect.getsource(one)
    except (OSError, TypeError):  # Python finds no source of a class in a cell, but that of its methods
        pass
    methods = (
        [method for method in vars(one).values() if isinstance(method, FunctionType)] if isinstance(one, type) else []
    )
    try:
        return "\0".join(map(inspect.getsource, methods)) or None
    except (OSError, TypeError):
        return None
