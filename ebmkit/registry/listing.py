"""The installed plugins and what they offer, without running their code in this process.

A plugin is described by its manifest, if it has one that fits the installed code; otherwise by another process, which
imports it once. Both are kept (`listing_cache.py`) until the code or any installed distribution changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ebmkit.registry.catalogue import Broken, Catalogue, Malformed, read_catalogue
from ebmkit.registry.code_files import code_digest, code_file
from ebmkit.registry.hookspecs import API_VERSION
from ebmkit.registry.listing_cache import keep, kept_file, read_kept


@dataclass(frozen=True)
class Installed:
    """A plugin as its metadata describe it."""

    namespace: str
    distribution: str
    version: str
    #: What the entry point names.
    module: str
    #: Why it cannot be used; empty if it can.
    trouble: str
    disabled: bool
    #: The requirements of its distribution.
    requires: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"plugin '{self.namespace}' ({self.distribution})"


class Listing:
    """All installed plugins. None is imported before `catalogues` needs what neither a manifest nor the cache has."""

    def __init__(self) -> None:
        self._file = kept_file()
        self._changed = False
        #: For each plugin `installed`, the `sha256` of its code, what is `known`, its `source` and a `note`.
        self._entries: dict[str, dict[str, Any]] = {}
        try:
            self._entries = read_kept(self._file)
            self.plugins = {name: _installed(name, entry["installed"]) for name, entry in self._entries.items()}
        except (KeyError, TypeError):
            self.plugins = _from_metadata()
            self._entries = {name: {"installed": asdict(plugin)} for name, plugin in self.plugins.items()}
            keep(self._file, self._entries)

    def catalogues(self, wanted: Iterable[str] | None = None, *, fresh: bool = False) -> dict[str, Catalogue | Broken]:
        """What the plugins offer, or why they cannot be used, for all of them or those `wanted`.

        With `fresh`, nothing that was kept is used, and every plugin without a manifest is imported again.
        """
        found, unknown = self._known(wanted, fresh)
        if unknown:
            from ebmkit.registry.separate_process import imported_apart

            for name, known in imported_apart(list(unknown)).items():
                found[name] = known
                self._entries[name] |= {"sha256": unknown[name], "source": "import", "known": _plain_known(known)}
        if unknown or self._changed:
            keep(self._file, self._entries)
        return {name: found[name] for name in self.plugins if name in found}

    def known(self) -> dict[str, Catalogue | Broken]:
        """What is known of the plugins already, and from their manifests."""
        return self._known(None, fresh=False)[0]

    def _known(
        self, wanted: Iterable[str] | None, fresh: bool
    ) -> tuple[dict[str, Catalogue | Broken], dict[str, str | None]]:
        """What is known of plugins, and the digests of the code of those that must be imported."""
        found: dict[str, Catalogue | Broken] = {}
        unknown: dict[str, str | None] = {}
        asked = list(self.plugins) if wanted is None else [name for name in wanted if name in self.plugins]
        for name in [name for name in asked if not self.plugins[name].disabled]:
            if self.plugins[name].trouble:
                found[name] = Broken(self.plugins[name].trouble)
                continue
            code = code_file(self.plugins[name].module)
            sha256 = code_digest(code)
            known = None if fresh else self._kept(name, code, sha256)
            known = known or self._manifest(name, code, sha256)
            if known is None:
                unknown[name] = sha256
            else:
                found[name] = known
        return found, unknown

    def labelled(self) -> list[tuple[str, Catalogue | Broken]]:
        """The catalogues of all plugins, each with what messages call the plugin."""
        return [(self.plugins[name].label, known) for name, known in self.catalogues().items()]

    def source(self, namespace: str) -> str:
        """Where the catalogue came from: `manifest`, `import`, or nothing if it is not known."""
        return str(self._entries[namespace].get("source", ""))

    def note(self, namespace: str) -> str:
        """Why the manifest of a plugin was ignored, if it was."""
        return str(self._entries[namespace].get("note", ""))

    @property
    def notes(self) -> list[str]:
        """Why manifests were ignored."""
        return [note for name in self.plugins if (note := self.note(name))]

    def _kept(self, namespace: str, code: Path | None, sha256: str | None) -> Catalogue | Broken | None:
        entry = self._entries[namespace]
        if sha256 is None or entry.get("sha256") != sha256 or entry.get("manifest") != _stamp(code):
            return None
        try:
            return _read_known(entry["known"])
        except (KeyError, TypeError, Malformed):
            return None

    def _manifest(self, namespace: str, code: Path | None, sha256: str | None) -> Catalogue | Broken | None:
        """What a manifest says that describes the installed code; a note for one that does not."""
        self._entries[namespace].pop("note", None)
        self._entries[namespace]["manifest"] = _stamp(code)
        if code is None:
            return None
        from ebmkit.registry.manifest import manifest_file, read_manifest

        if not manifest_file(code).exists():
            return None
        ignored = f"the manifest of {self.plugins[namespace].label} is ignored, because it"
        try:
            manifest = read_manifest(manifest_file(code))
        except Malformed as error:
            self._entries[namespace]["note"] = f"{ignored} cannot be read: {error}"
            return None
        if manifest.sha256 != sha256:
            self._entries[namespace]["note"] = f"{ignored} describes other code than that installed"
            return None
        known = manifest.catalogue if manifest.api == API_VERSION else Broken(_other_api(manifest.api))
        self._entries[namespace] |= {"sha256": sha256, "source": "manifest", "known": _plain_known(known)}
        self._changed = True
        return known


def _stamp(code: Path | None) -> list[int] | None:
    """When the manifest of this code was written, and its size; None if there is none."""
    from ebmkit.registry.manifest import manifest_file

    try:
        status = manifest_file(code).stat() if code else None
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_size] if status else None


def _other_api(api: int) -> str:
    return f"it was written for plugin API {api}, but this ebmkit has API {API_VERSION}"


def _from_metadata() -> dict[str, Installed]:
    from ebmkit.registry.discovery import installed  # reading metadata is slow

    return {
        name: Installed(
            name,
            plugin.distribution,
            plugin.version,
            getattr(plugin.target, "value", ""),
            plugin.trouble,
            plugin.disabled,
            plugin.requires,
        )
        for name, plugin in installed().items()
    }


def _installed(namespace: str, content: dict[str, Any]) -> Installed:
    return Installed(**content | {"namespace": namespace, "requires": tuple(content["requires"])})


def _plain_known(known: Catalogue | Broken) -> dict[str, Any]:
    return known.plain() if isinstance(known, Catalogue) else asdict(known)


def _read_known(content: Any) -> Catalogue | Broken:
    return Broken(**content) if "reason" in content else read_catalogue(content)
