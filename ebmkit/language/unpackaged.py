"""The code of a run that no distribution brings, so that it has to be passed again: files, modules and objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.schema import PluginMissing
from ebmkit.errors.source import Source
from ebmkit.language.text import parse, read
from ebmkit.registry.at_hand import AtHand
from ebmkit.registry.given import NOTEBOOK

if TYPE_CHECKING:
    from ebmkit.registry.loading import LoadedPlugin

#: The key in `lock.yaml`.
UNPACKAGED = "unpackaged"


def unpackaged(plugins: Iterable[LoadedPlugin]) -> dict[str, str] | None:
    """What has to be passed again, by namespace: the name of a file, the module, or the names of objects."""
    found = {}
    for loaded in plugins:
        target = loaded.plugin.target
        if isinstance(target, AtHand):
            found[loaded.plugin.namespace] = target.shown
        elif isinstance(target, Path):
            found[loaded.plugin.namespace] = target.name
        elif not loaded.plugin.is_packaged:
            found[loaded.plugin.namespace] = loaded.plugin.distribution
    return found or None


def resume_in_python(folder: Path, plugins: Iterable[LoadedPlugin]) -> str | None:
    """How Python resumes a run, if it was made with code that no command line can name; None otherwise."""
    known = list(plugins)
    if all(each.plugin.is_packaged or isinstance(each.plugin.target, Path) for each in known):
        return None
    words = {namespace: _expression(name) for namespace, name in (unpackaged(known) or {}).items()}
    objects = {each.plugin.namespace for each in known if isinstance(each.plugin.target, AtHand)}
    if objects <= {NOTEBOOK}:  # the namespaces of all others follow from their names
        passed = f"[{', '.join(words.values())}]"
    else:
        passed = "{" + ", ".join(f"{namespace!r}: [{name}]" for namespace, name in words.items()) + "}"
    return f"ebmkit.resume({str(folder)!r}, plugins={passed})"


def _expression(name: str) -> str:
    return repr(name) if name.endswith(".py") else name.removeprefix("module ").rpartition(".")[2]


def explain_missing(mistakes: Iterable[EbmkitError], spec: Source) -> None:
    """Say how the code that a run was made with is passed, if `spec` is the resolved spec in its folder."""
    path = Path(spec.name)
    missing = [mistake for mistake in mistakes if isinstance(mistake, PluginMissing)]
    if not missing or path.name != "resolved.yaml":
        return
    try:
        content = parse(read(str(path.with_name("lock.yaml")))).plain()
    except (EbmkitError, Mistakes):
        return  # without its lock, nothing is known
    known = _mapping(_mapping(content).get(UNPACKAGED))
    words = {namespace: str(name) for namespace, name in known.items()}
    for namespace, plugin in _mapping(_mapping(content).get("plugins")).items():
        if _mapping(plugin).get("version") == "unpackaged":
            words.setdefault(namespace, f"{namespace}.py")
    for mistake in missing:
        for namespace, name in words.items():
            if f"'{namespace}'" in mistake.message:
                mistake.help = _how(namespace, name)


def _how(namespace: str, name: str) -> str:
    if name.endswith(".py"):
        return f"the run was made with a file: add --plugin {name}, or in Python plugins=['{name}']"
    if name.startswith("module "):
        return f"the run was made with a module: import it, and pass plugins=[{name.removeprefix('module ')}]"
    passed = f"[{name}]" if namespace == NOTEBOOK else f"{{'{namespace}': [{name}]}}"
    return f"the run was made with objects of a notebook or script: define them again, and pass plugins={passed}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
