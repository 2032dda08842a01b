"""From a spec to a plan in one call, without torch: text, layers, check, resolve."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.source import Source
from ebmkit.language.check import check
from ebmkit.language.dictionary import dictionary_source
from ebmkit.language.enclosed import Enclosed
from ebmkit.language.layers import compose, open_spec
from ebmkit.language.resolve import resolve
from ebmkit.language.unpackaged import explain_missing
from ebmkit.registry.registry import Registry

if TYPE_CHECKING:
    import os

    from ebmkit.language.plan import Plan
    from ebmkit.registry.given import PluginsGiven


def load_spec(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Source,
    *,
    sets: str | Sequence[str | Source] = (),
    unsets: str | Sequence[str] = (),
    plugins: PluginsGiven = (),
    data: Any = None,
    idle: bool = False,
) -> Plan:
    """The plan of a spec: a path, the name of a packaged spec, `-`, or the spec itself as a dictionary.

    `sets` and `unsets` are what `--set` and `--unset` take, one value or several. `plugins` are files as `--plugin`
    takes them, modules, component classes, hooks, torch modules and functions, one or several; a dictionary names their
    namespaces. `data` are points in place of those of the spec: an array, a tensor or a table, or a pair of these and
    labels. With `idle`, a spec may have nothing to train and nothing to sample, for example to be displayed only.

    Raises `ebmkit.errors.Mistakes` with all mistakes, each with its place.
    """
    from ebmkit.registry.loading import Plugins

    found: list[EbmkitError] = []
    enclosed, source = Enclosed(), None
    try:
        registry = Registry(Plugins(plugins))
        source = spec if isinstance(spec, Source) else _source(spec, registry, enclosed)
        # A string is a sequence too, of letters.
        several_sets = [sets] if isinstance(sets, str) else sets
        several_unsets = [unsets] if isinstance(unsets, str) else unsets
        if data is not None:
            from ebmkit.language.given_data import data_flags

            several_sets = [*data_flags(data, enclosed), *several_sets]
        tree = compose(source, several_sets, several_unsets, found)
        checked = check(tree, registry, default_name=_name_of(source.name), enclosed=enclosed)
        if not found:
            return resolve(checked, registry, idle=idle)
    except EbmkitError as mistake:  # one that prevents further parsing
        found.append(mistake)
    except Mistakes as several:
        reported = {str(mistake.place) for mistake in found}  # an ill-formed number also has the wrong type
        found += [mistake for mistake in several.mistakes if str(mistake.place) not in reported]
    if source:
        explain_missing(found, source)
    raise Mistakes(found)


def _source(spec: str | os.PathLike[str] | Mapping[str, Any], registry: Registry, enclosed: Enclosed) -> Source:
    if isinstance(spec, Mapping):
        return dictionary_source(spec, registry, enclosed)
    return open_spec(str(spec))


def _name_of(file: str) -> str:
    """The name of a run, from that of its file: `my spec (2).yaml` gives `my-spec-2`, `<stdin>` gives `stdin`."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(file).stem)
    return plain.strip("-._")[:100] or "experiment"
