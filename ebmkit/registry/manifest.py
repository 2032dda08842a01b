"""The manifest of a plugin: what it offers, as a file that is published along with its code.

A package with a manifest is listed, shown and completed without running any of its code. The manifest holds the digest
of the code that it describes; where the installed code is other code, the manifest is ignored.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmkit.contracts.version import __version__
from ebmkit.errors.schema import PluginBroken
from ebmkit.registry.catalogue import Catalogue, Malformed, catalogue_of, read_catalogue
from ebmkit.registry.code_files import code_digest
from ebmkit.registry.hookspecs import API_VERSION

if TYPE_CHECKING:
    from ebmkit.registry.loading import LoadedPlugin

#: Its name inside a package; for a single module the name of the module stands before it.
NAME = "ebmkit-plugin.json"
#: The version of the format.
FORMAT = 1
#: Maximum number of bytes.
MOST_BYTES = 8 << 20

#: For each component, by kind and name, the laws that it held.
Laws = Mapping[tuple[str, str], Sequence[str]]


@dataclass(frozen=True)
class Manifest:
    """What a manifest says."""

    #: Of the code that it describes, as `code_digest` gives it.
    sha256: str
    #: The version of the plugin API that the code is written for.
    api: int
    catalogue: Catalogue


def manifest_file(code: Path) -> Path:
    """Where the manifest of a package (`.../__init__.py`) or module (`.../thing.py`) is."""
    return code.with_name(NAME if code.name == "__init__.py" else f"{code.stem}.{NAME}")


def read_manifest(file: Path) -> Manifest:
    """The content of a manifest. Raises Malformed if it cannot be read."""
    try:
        if file.stat().st_size > MOST_BYTES:
            raise Malformed(f"it is larger than {MOST_BYTES >> 20} MiB")
        content = json.loads(file.read_bytes())
    except (OSError, RecursionError) as error:
        raise Malformed(getattr(error, "strerror", None) or "it is nested too deeply") from error
    except ValueError as error:
        raise Malformed("it is not JSON") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise Malformed(f"its format is not {FORMAT}")
    sha256, api = content.get("sha256"), content.get("api")
    if type(sha256) is not str or type(api) is not int:
        raise Malformed("it lacks 'sha256' or 'api'")
    return Manifest(sha256, api, read_catalogue(content))


def write_manifest(loaded: LoadedPlugin, laws: Laws | None = None) -> Path:
    """Write the manifest of a plugin next to its code. Raises PluginBroken if one of its components cannot be used.

    Without `laws`, those of a manifest that still fits the code stay.
    """
    if loaded.mistakes:
        raise PluginBroken(f"{loaded.plugin.label} has mistakes: {'; '.join(loaded.mistakes)}")
    code = _code(loaded)
    held = _held(loaded) if laws is None else laws
    file, temporary = manifest_file(code), manifest_file(code).with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(_content(loaded, code, held), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    temporary.replace(file)
    return file


def has_manifest(loaded: LoadedPlugin) -> bool:
    """Whether there is a manifest next to the code."""
    return manifest_file(_code(loaded)).exists()


def verify(loaded: LoadedPlugin) -> list[str]:
    """The differences between a plugin's code and its manifest, in words; empty if there are none."""
    code = _code(loaded)
    if not manifest_file(code).exists():
        return [f"it has no manifest: {manifest_file(code).name} is missing"]
    try:
        manifest = read_manifest(manifest_file(code))
    except Malformed as error:
        return [f"the manifest cannot be read: {error}"]
    found = []
    if manifest.sha256 != code_digest(code):
        found.append("the manifest describes other code: its sha256 differs")
    if manifest.api != API_VERSION:
        found.append(f"the manifest is for plugin API {manifest.api}, but this ebmkit has API {API_VERSION}")
    now = {(each.kind, each.name): _without_laws(each.content) for each in catalogue_of(loaded).components}
    then = {(each.kind, each.name): _without_laws(each.content) for each in manifest.catalogue.components}
    for kind, name in sorted(now.keys() | then.keys()):
        if (kind, name) not in then:
            found.append(f"the manifest lacks {kind} '{name}'")
        elif (kind, name) not in now:
            found.append(f"the manifest has {kind} '{name}', which the code does not offer")
        elif now[kind, name] != then[kind, name]:
            keys = [key for key, value in now[kind, name].items() if then[kind, name].get(key) != value]
            found.append(f"{kind} '{name}' differs from the manifest in {', '.join(keys)}")
    if tuple(loaded.hooks) != manifest.catalogue.hooks:
        found.append("the hooks differ from those of the manifest")
    return found


def _content(loaded: LoadedPlugin, code: Path, laws: Laws) -> dict[str, Any]:
    catalogue = catalogue_of(loaded)
    components = [
        {**each.content, "laws": list(laws[each.kind, each.name])} if (each.kind, each.name) in laws else each.content
        for each in catalogue.components
    ]
    return {
        "format": FORMAT,
        "written_by": f"ebmkit-core {__version__}",
        "api": API_VERSION,
        "sha256": code_digest(code),
        "hooks": list(loaded.hooks),
        "components": components,
    }


def _held(loaded: LoadedPlugin) -> Laws:
    """The laws of a manifest that describes this code."""
    with suppress(Malformed):
        manifest = read_manifest(manifest_file(_code(loaded)))
        if manifest.sha256 == code_digest(_code(loaded)):
            return {(each.kind, each.name): each.laws for each in manifest.catalogue.components if each.laws}
    return {}


def _code(loaded: LoadedPlugin) -> Path:
    """The file of the top-level package or module of a plugin that is loaded."""
    file = getattr(sys.modules.get(loaded.module.partition(".")[0]), "__file__", None)
    if not file:
        raise PluginBroken(f"{loaded.plugin.label} has no place for a manifest: its package needs an __init__.py")
    return Path(file)


def _without_laws(content: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps({key: value for key, value in content.items() if key != "laws"}))  # type: ignore[no-any-return]
