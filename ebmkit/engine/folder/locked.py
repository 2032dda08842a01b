"""Whether the installed software is that of a lock, from metadata and files, before any of it is imported."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.files import as_written
from ebmkit.contracts.kinds import Data
from ebmkit.contracts.walk import walk
from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.running import Drifted, StorageFailed
from ebmkit.language.diff import differences
from ebmkit.language.text import parse, read
from ebmkit.registry.code_files import code_digest, code_file
from ebmkit.storage.atomic import storing

if TYPE_CHECKING:
    from ebmkit.language.plan import Plan
    from ebmkit.registry.loading import LoadedPlugin

#: The packages whose versions a lock records.
PACKAGES = ("ebmkit-core", "torch")


def read_lock(path: Path) -> dict[str, Any]:
    """The content of a `lock.yaml`, or of that in a run folder. It is read with limits, because it may be untrusted."""
    file = path / "lock.yaml" if path.is_dir() else path
    with storing(file):
        file.stat()
    try:
        content = parse(read(str(file))).plain()
        if not isinstance(content, dict):
            raise ValueError("not a mapping")
    except (EbmkitError, Mistakes, ValueError) as error:
        raise StorageFailed(f"{file}: damaged: {error}") from error
    return content


def packages() -> dict[str, str | None]:
    """The versions of the packages on which every result depends."""
    return {name: _version(name) for name in PACKAGES}


def plugin_entry(loaded: LoadedPlugin) -> dict[str, Any]:
    """What a lock records of a plugin."""
    return {
        # A file may be elsewhere next time; its hash identifies it.
        "distribution": loaded.plugin.distribution if loaded.plugin.is_packaged else None,
        "version": loaded.plugin.version,
        "sha256": loaded.sha256,
    }


def data_files(plan: Plan) -> dict[str, str]:
    """The files that the data of a plan, including those of metrics, are read from, with their SHA-256."""
    found = (component for _, component in walk(plan.spec) if isinstance(component, Data))
    return {str(as_written(each, file)): sha256_of(file) for each in found for file in each.files()}


def conditions_changed(folder: Path, plan: Plan) -> list[str]:
    """What differs between a run and what a new run of the plan would depend on, in words. Without torch: device and
    threads, which decide the last bits only, are not compared."""
    then = read_lock(folder)
    now = {
        "packages": packages(),
        "plugins": {loaded.plugin.namespace: plugin_entry(loaded) for loaded in plan.plugins},
        "data": data_files(plan),
    }
    return [str(each) for each in differences({key: then.get(key) for key in now}, now)]


def plugins_changed(folder: Path, plan: Plan) -> list[str]:
    """What differs between the plugins that a run was made with and these now, in words."""
    then = _part(read_lock(folder), "plugins")
    now = {loaded.plugin.namespace: plugin_entry(loaded) for loaded in plan.plugins}
    both = [name for name in then if name in now]
    before, after = ({name: of[name] for name in both} for of in (then, now))
    return [str(each) for each in differences(before, after, ("plugins",))]


def require_locked(path: Path, files: Sequence[str]) -> None:
    """Raise Drifted, naming each difference, unless the installed versions and plugins are those of a lock.

    Nothing is imported: code that differs from the lock is not run. `files` are those given with `--plugin`.
    """
    content = read_lock(path)
    found = [str(each) for each in differences(_part(content, "packages"), packages(), ("packages",))]
    if found := found + plugin_changes(content, files):
        raise _not_locked(path, found)


def require_plan_locked(path: Path, plan: Plan) -> None:
    """The same for the plugins of a plan: those that a lock lacks, and what only an import could tell."""
    then = _part(read_lock(path), "plugins")
    now = {loaded.plugin.namespace: plugin_entry(loaded) for loaded in plan.plugins}
    needed = {name: then.get(name) for name in now}
    if found := [str(each) for each in differences(needed, now, ("plugins",))]:
        raise _not_locked(path, found)


def plugin_changes(content: dict[str, Any], files: Sequence[str] = ()) -> list[str]:
    """The plugins of a lock that are not installed any more or have changed, in words."""
    from ebmkit.registry.discovery import installed

    given = {Path(file).stem: Path(file) for file in files}
    there = installed() if any(name not in given for name in _part(content, "plugins")) else {}
    found = []
    for name, entry in _part(content, "plugins").items():
        then = entry if isinstance(entry, dict) else {}
        if name in given:
            now = {"sha256": code_digest(given[name])}
        elif then.get("distribution") is None:
            if not any(file.is_dir() for file in given.values()):  # a folder is compared when it is loaded
                found.append(f"the file '{name}.py' is not given with --plugin")
            continue
        elif name not in there:
            found.append(f"{then['distribution']} {then.get('version')} (plugin '{name}') is not installed")
            continue
        else:
            plugin = there[name]
            now = {"distribution": plugin.distribution, "version": plugin.version}
            module = getattr(plugin.target, "value", "")
            if "." not in module and (sha256 := code_digest(code_file(module))):
                now["sha256"] = sha256
        known = {key: then.get(key) for key in now}
        found += [str(each) for each in differences(known, now, ("plugins", name))]
    return found


@contextmanager
def plugin_changes_explained(folder: Path, files: Sequence[str] = ()) -> Iterator[None]:
    """Around reading the spec of a run: if it fails, say which plugins have changed since the run began."""
    try:
        yield
    except (EbmkitError, Mistakes) as error:
        mistakes = error.mistakes if isinstance(error, Mistakes) else [error]
        try:
            changes = plugin_changes(read_lock(folder), files)
        except StorageFailed:
            raise error from None
        if not changes:
            raise
        changed = Drifted(f"since {folder} was started, its plugins have changed: {'; '.join(changes)}")
        raise Mistakes([*mistakes, changed]) from error


def _not_locked(path: Path, found: list[str]) -> Drifted:
    return Drifted(
        f"the installation differs from {path}: {'; '.join(found)}",
        help="install what the lock names, or run without --locked",
    )


def _part(content: dict[str, Any], key: str) -> dict[str, Any]:
    part = content.get(key)
    return part if isinstance(part, dict) else {}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
    with storing(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
