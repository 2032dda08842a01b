"""Finding plugins by their metadata: listing a plugin imports nothing of it."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from ebmkit.contracts.version import __version__
from ebmkit.errors.schema import PluginMissing

_NAMESPACE = re.compile(r"[a-z][a-z0-9_]*\Z")


@dataclass(frozen=True)
class Plugin:
    """The metadata of a plugin, known before anything of it is imported."""

    namespace: str
    distribution: str  # for a file named on the command line, its path
    version: str
    target: EntryPoint | Path | None
    #: Why it cannot be used; empty if it can.
    trouble: str = ""
    #: Turned off by the user, which is not an error.
    disabled: bool = False


def installed() -> dict[str, Plugin]:
    """The installed plugins by namespace, including those that cannot be used, with the reason."""
    claims: dict[str, dict[str, EntryPoint]] = {}
    for entry in entry_points(group="ebmkit"):
        claims.setdefault(entry.name, {})[entry.dist.name if entry.dist else "?"] = entry
    return {namespace: _from_metadata(namespace, entries) for namespace, entries in sorted(claims.items())}


def _from_metadata(namespace: str, entries: dict[str, EntryPoint]) -> Plugin:
    distributions = sorted(entries)
    entry = entries[distributions[0]]
    version = entry.dist.version if entry.dist else "?"
    trouble = ""
    if len(distributions) > 1:
        trouble = f"several distributions claim this namespace: {', '.join(distributions)}; uninstall all but one"
    elif not _NAMESPACE.match(namespace):
        trouble = "a namespace is made of lower-case letters, digits and underscores"
    elif _disabled(namespace):
        trouble = "EBMKIT_DISABLE_PLUGINS turns it off"
    else:
        trouble = _unmet_requirement(entry)
    return Plugin(namespace, ", ".join(distributions), version, entry, trouble, _disabled(namespace))


def _disabled(namespace: str) -> bool:
    setting = os.environ.get("EBMKIT_DISABLE_PLUGINS", "").strip()
    return setting.lower() in ("1", "true", "all") or namespace in [word.strip() for word in setting.split(",")]


def _unmet_requirement(entry: EntryPoint) -> str:
    """Checked before anything is imported: the distribution says which ebmkit-core it works with."""
    from packaging.requirements import InvalidRequirement, Requirement

    for text in (entry.dist.requires if entry.dist else None) or ():
        with contextlib.suppress(InvalidRequirement):
            requirement = Requirement(text)
            name = requirement.name.lower().replace("_", "-")
            if name == "ebmkit-core" and not requirement.specifier.contains(__version__, prereleases=True):
                return f"it needs ebmkit-core{requirement.specifier}, but {__version__} is installed"
            if name == "ebmkit":
                return "it depends on 'ebmkit', which is another project on PyPI; it should depend on 'ebmkit-core'"
    return ""


def file_plugin(name: str) -> Plugin:
    """A plugin that the user names on the command line; its namespace is the file's name."""
    path = Path(name)
    if path.suffix != ".py" or not path.is_file():
        raise PluginMissing(f"there is no Python file '{name}'")
    trouble = "" if _NAMESPACE.match(path.stem) else "name the file with lower-case letters, digits and underscores"
    return Plugin(path.stem, name, "unpackaged", path, trouble)
