"""The torch-free half of the road in one call: text, layers, check, resolve."""

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

    A spec that is only looked at may be `idle`: have nothing to train and nothing to sample with.

    Raises `ebmkit.errors.Mistakes` with everything that is wrong, each with its place.
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
    except EbmkitError as mistake:  # one that stops the reading
        found.append(mistake)
    except Mistakes as several:
        said = {str(mistake.place) for mistake in found}  # what is no number in the text has no right type either
        found += [mistake for mistake in several.mistakes if str(mistake.place) not in said]
    raise Mistakes(found)


def _source(spec: str | os.PathLike[str] | Mapping[str, Any]) -> Source:
    if isinstance(spec, Mapping):
        # JSON is YAML, so places can be shown here too.
        return Source("<experiment>", json.dumps(dict(spec), indent=2, default=_plain))
    return open_spec(str(spec))


def _plain(value: Any) -> Any:
    """What JSON does not know: other mappings as dictionaries, everything else as its text."""
    return dict(value) if isinstance(value, Mapping) else str(value)


def _name_of(file: str) -> str:
    """A run's name from a file's: `my spec (2).yaml` gives `my-spec-2`, `<stdin>` gives `stdin`."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(file).stem)
    return plain.strip("-._")[:100] or "experiment"
