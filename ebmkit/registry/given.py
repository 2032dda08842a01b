"""What Python passes as `plugins=`: files, modules, and objects that are at hand, in a notebook or a script."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, TypeAlias, TypeGuard

#: A file with a plugin, a module, a component class, a function marked as a hook, or an energy: a torch module or a
#: function. The last two kinds of objects have no type that is known without torch.
One: TypeAlias = str | os.PathLike[str] | ModuleType | type[Any] | Any
#: One or several of them; those in a dictionary by their namespace.
PluginsGiven: TypeAlias = One | Sequence[One] | Mapping[str, One | Sequence[One]]

#: The namespace of objects that were passed without one.
NOTEBOOK = "notebook"


def listed(given: PluginsGiven) -> Iterator[tuple[str, One]]:
    """Each of what was passed, with its namespace; empty where none was given."""
    if isinstance(given, Mapping):
        for namespace, some in given.items():
            yield from ((str(namespace), one) for one in _several(some))
    else:
        yield from (("", one) for one in _several(given))


def _several(given: Any) -> Sequence[Any]:
    # A string is a sequence too, of letters; so is a torch module that contains others.
    return given if isinstance(given, (list, tuple, set, frozenset)) else [given]  # type: ignore[return-value]


def is_file(one: One) -> TypeGuard[str | os.PathLike[str]]:
    """Whether this names a file."""
    return isinstance(one, (str, os.PathLike))
