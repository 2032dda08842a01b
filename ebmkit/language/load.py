"""From a spec to a plan in one call, without torch: text, layers, check, resolve."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.check import check
from ebmkit.language.layers import compose, open_spec
from ebmkit.language.resolve import resolve
from ebmkit.registry.registry import Registry

if TYPE_CHECKING:
    import os

    from ebmkit.language.plan import Plan


def load_spec(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Source,
    *,
    sets: Sequence[str | Source] = (),
    unsets: Sequence[str] = (),
    plugins: Sequence[str] = (),
    idle: bool = False,
) -> Plan:
    """The plan of a spec: a path, the name of a packaged spec, `-`, or the spec itself as a dictionary.

    With `idle`, a spec may have nothing to train and nothing to sample, for example to be displayed only.

    Raises `ebmkit.errors.Mistakes` with all mistakes, each with its place.
    """
    from ebmkit.registry.loading import Plugins

    found: list[EbmkitError] = []
    try:
        source = spec if isinstance(spec, Source) else _source(spec)
        registry = Registry(Plugins(plugins))
        tree = compose(source, sets, unsets, found)
        checked = check(tree, registry, default_name=_name_of(source.name))
        if not found:
            return resolve(checked, registry, idle=idle)
    except EbmkitError as mistake:  # one that prevents further parsing
        found.append(mistake)
    except Mistakes as several:
        reported = {str(mistake.place) for mistake in found}  # an ill-formed number also has the wrong type
        found += [mistake for mistake in several.mistakes if str(mistake.place) not in reported]
    raise Mistakes(found)


def _source(spec: str | os.PathLike[str] | Mapping[str, Any]) -> Source:
    if isinstance(spec, Mapping):
        # JSON is YAML, so places can be shown here too.
        return Source("<experiment>", json.dumps(dict(spec), indent=2, default=_plain))
    return open_spec(str(spec))


def _plain(value: Any) -> Any:
    """Values that JSON does not support: other mappings become dictionaries, everything else its text."""
    return dict(value) if isinstance(value, Mapping) else str(value)


def _name_of(file: str) -> str:
    """The name of a run, from that of its file: `my spec (2).yaml` gives `my-spec-2`, `<stdin>` gives `stdin`."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(file).stem)
    return plain.strip("-._")[:100] or "experiment"
