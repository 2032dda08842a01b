"""Finding plugins by their metadata: listing a plugin imports nothing of it.

`importlib.metadata.entry_points` stops at the first distribution whose metadata is damaged, so each is read by itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ebmkit.contracts.component import NAME
from ebmkit.contracts.version import __version__
from ebmkit.errors.describe import describe_error
from ebmkit.errors.schema import PluginMissing

if TYPE_CHECKING:
    from ebmkit.registry.at_hand import AtHand

_GROUP = "ebmkit"
#: Maximum number of characters of a name in messages.
LONGEST = 100

#: Maximum number of namespaces of one distribution.
MOST_NAMESPACES = 100
#: The verbs, which are no namespaces of packages: `ebmkit NAMESPACE ...` calls the commands of a plugin.
VERBS = (
    *("run", "resume", "runs", "sample", "evaluate", "report", "reproduce", "diff", "new", "validate", "resolve"),
    *("prune", "schedule", "schema", "list", "show", "plugins", "explain", "doctor", "completion"),
)

NAME_RULE = "at most 64 lower-case letters, digits and underscores"


@dataclass(frozen=True)
class Plugin:
    """The metadata of a plugin, known before anything of it is imported."""

    namespace: str
    distribution: str  # for a file named by the user, its path; for a module, its name
    version: str
    target: EntryPoint | Path | ModuleType | AtHand | None
    #: Why it cannot be used; empty if it can.
    trouble: str = ""
    #: Turned off by the user, which is not an error.
    disabled: bool = False
    #: For a package in a folder that need not be installed: the module of its entry point.
    module: str = ""
    #: The requirements of its distribution.
    requires: tuple[str, ...] = ()

    @property
    def is_packaged(self) -> bool:
        """Whether a distribution brings it. Other code has to be passed again where a run is resumed or opened."""
        return self.target is None or isinstance(self.target, EntryPoint)

    @property
    def label(self) -> str:
        """What messages call it: `plugin 'alpha' (ebmkit-alpha)`."""
        return f"plugin '{self.namespace}' ({self.distribution})"


@dataclass(frozen=True)
class _Claim:
    """A distribution that names a namespace."""

    distribution: str
    version: str
    requires: tuple[str, ...]
    entry: EntryPoint | None
    trouble: str = ""


def installed() -> dict[str, Plugin]:
    """The installed plugins by namespace, including those that cannot be used, with the reason."""
    claims: dict[str, dict[str, _Claim]] = {}
    for distribution in distributions():
        for namespace, claim in _claims(distribution):
            # A distribution that is found again further down the search path is hidden by the first.
            claims.setdefault(namespace, {}).setdefault(claim.distribution, claim)
    return {namespace: _from_metadata(namespace, list(claims[namespace].values())) for namespace in sorted(claims)}


def _claims(distribution: Distribution) -> list[tuple[str, _Claim]]:
    """The namespaces that a distribution claims. Damaged entry points claim the name of the distribution."""
    try:
        if f"[{_GROUP}]" not in (distribution.read_text("entry_points.txt") or "").replace(" ", ""):
            return []
        entries = [entry for entry in distribution.entry_points if entry.group == _GROUP]
    except UnicodeDecodeError as error:
        if f"[{_GROUP}]".encode() not in error.object:
            return []  # a plugin of something else
        return [_damaged(distribution, "its entry points are not text in UTF-8")]
    except Exception as error:
        return [_damaged(distribution, f"its entry points cannot be read: {describe_error(error)}")]
    if len(entries) > MOST_NAMESPACES:
        return [_damaged(distribution, f"it names {len(entries)} plugins, but at most {MOST_NAMESPACES} are expected")]
    names = [entry.name for entry in entries]
    return [(_shortened(entry.name), _claim(distribution, entry, names)) for entry in entries]


def _damaged(distribution: Distribution, trouble: str) -> tuple[str, _Claim]:
    name = _name(distribution)
    return name, _Claim(name, "?", (), None, trouble)


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}..."


def _name(distribution: Distribution) -> str:
    """The name of a distribution; if its metadata are damaged, that of their folder."""
    name = _read(lambda: distribution.name)
    folder = getattr(distribution, "_path", None)  # not public, but only for a message
    return _shortened(folder.name if name == "?" and isinstance(folder, Path) else name)


def _claim(distribution: Distribution, entry: EntryPoint, names: list[str]) -> _Claim:
    try:
        metadata = distribution.metadata  # each access reads and parses the file
        fields = {"name": metadata["Name"], "version": metadata["Version"]}
        requires = tuple(distribution.requires or ())
    except Exception as error:
        name, version = _name(distribution), _read(lambda: distribution.version)
        return _Claim(name, version, (), entry, f"its metadata cannot be read: {describe_error(error)}")
    trouble = ""
    if lacking := [key for key, value in fields.items() if not value]:
        trouble = f"its metadata has no {lacking[0]}; install it again"
    elif names.count(entry.name) > 1:
        trouble = f"it names the entry point '{entry.name}' twice"
    name = _shortened(fields["name"]) if fields["name"] else _name(distribution)
    return _Claim(name, fields["version"] or "?", requires, entry, trouble)


def _read(field: Callable[[], str | None]) -> str:
    """A field of the metadata; `?` if it is missing or the metadata is damaged."""
    try:
        return field() or "?"
    except Exception:
        return "?"


def _from_metadata(namespace: str, claims: list[_Claim]) -> Plugin:
    names = sorted(claim.distribution for claim in claims)
    claim = min(claims, key=lambda claim: claim.distribution)
    if _disabled(namespace):
        trouble = "EBMKIT_DISABLE_PLUGINS turns it off"
    elif len(names) > 1:
        trouble = f"several distributions claim this namespace: {', '.join(names)}; uninstall all but one"
    else:
        trouble = (
            claim.trouble
            or namespace_trouble(namespace, "a namespace is made of", has_commands=True)
            or unmet_requirement(claim.version, claim.requires)
        )
    return Plugin(
        namespace,
        ", ".join(names),
        claim.version,
        claim.entry,
        trouble,
        _disabled(namespace),
        requires=claim.requires,
    )


def namespace_trouble(namespace: str, rule: str, *, has_commands: bool = False) -> str:
    """Why a plugin cannot have this namespace; empty if it can. The words of the `rule` come before what it is made of.

    Only installed plugins have commands.
    """
    if not NAME.match(namespace):
        return f"{rule} {NAME_RULE}"
    if namespace == "ebmkit" or (has_commands and namespace in VERBS):
        return f"the namespace '{namespace}' is taken by ebmkit itself; choose another one"
    return ""


def _disabled(namespace: str) -> bool:
    setting = os.environ.get("EBMKIT_DISABLE_PLUGINS", "").strip()
    return setting.lower() in ("1", "true", "all") or namespace in [word.strip() for word in setting.split(",")]


def unmet_requirement(version: str, requires: Iterable[str]) -> str:
    """Checked before anything is imported: the distribution says which ebmkit-core it works with."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version

    try:
        Version(version)
        for text in requires:
            requirement = Requirement(text)
            name = canonicalize_name(requirement.name)
            if name == "ebmkit-core" and not requirement.specifier.contains(__version__, prereleases=True):
                return f"it needs ebmkit-core{requirement.specifier}, but {__version__} is installed"
            if name == "ebmkit":
                return "it depends on 'ebmkit', which is another project on PyPI; it should depend on 'ebmkit-core'"
    except InvalidVersion:
        return f"its version '{version}' is not a version"
    except InvalidRequirement:
        return f"its requirement '{text}' cannot be read"
    return ""


def file_plugin(name: str) -> Plugin:
    """A plugin that the user names on the command line; its namespace is the file's name."""
    path = Path(name)
    if path.suffix != ".py" or not path.is_file():
        raise PluginMissing(f"there is no Python file '{name}'")
    trouble = namespace_trouble(path.stem, "name the file with")
    return Plugin(path.stem, name, "unpackaged", path, trouble)


def module_plugin(module: ModuleType, namespace: str = "") -> Plugin:
    """A module that Python passed; its namespace is the last part of its name, as for a file."""
    namespace = namespace or module.__name__.rpartition(".")[2]
    trouble = namespace_trouble(namespace, "name the module with")
    return Plugin(namespace, f"module {module.__name__}", "unpackaged", module, trouble)


def plugin_at_hand(objects: AtHand, namespace: str) -> Plugin:
    """Objects that Python passed."""
    trouble = namespace_trouble(namespace, "a namespace is made of")
    return Plugin(namespace, "passed from Python", "unpackaged", objects, trouble)
