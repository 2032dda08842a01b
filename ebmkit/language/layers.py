"""The layers of a spec: the file, the specs it extends, and the command-line flags, merged into one tree.

Every value keeps the place where it was written, in whichever layer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ebmkit.errors.base import EbmkitError, Mistakes
from ebmkit.errors.source import Source
from ebmkit.errors.text import BadExtends, NotASpec, TooLarge, Unreadable
from ebmkit.language import packaged, text
from ebmkit.language.flags import changes_use, set_value, unset_value
from ebmkit.language.text import Node
from ebmkit.registry.spelling import did_you_mean

MAX_EXTENDS = 16


def compose(
    source: Source,
    sets: Sequence[str | Source] = (),
    unsets: Sequence[str] = (),
    found: list[EbmkitError] | None = None,
) -> Node:
    """The merged tree of a spec: bases first, then the file, then `--unset`, then `--set` in the order given.

    A change may be a `Source` with its own name, such as `--device`. Mistakes in a file that leave its structure intact
    are appended to `found`, if given.
    """
    root = _with_bases(source, (), found)
    mistakes: list[EbmkitError] = []

    def apply(edit: Callable[[Node, Source], Node], flag: Source) -> Node:
        try:
            return edit(root, flag)
        except Mistakes as several:
            mistakes.extend(several.mistakes)
        except EbmkitError as mistake:
            mistakes.append(mistake)
        return root

    for number, path in enumerate(unsets, start=1):
        root = apply(unset_value, Source(f"--unset[{number}]", path))
    for number, change in enumerate(sets, start=1):
        root = apply(set_value, change if isinstance(change, Source) else Source(f"--set[{number}]", change))
    if mistakes:
        raise Mistakes(mistakes)
    return root


def open_spec(path: str) -> Source:
    """The text of a spec given as a path, as `-`, or as the bare name of a packaged spec."""
    here = _exists(Path(path)) and not Path(path).is_dir()
    found = None if path == "-" or here else packaged.find(path)
    try:
        return text.read(str(found or path))
    except Unreadable as error:
        if "/" not in path and not path.endswith((".yaml", ".yml")):
            plain = [name for name in packaged.names() if "/" not in name]
            known = f"packaged specs: {', '.join(plain)} and those of gallery/"
            error.help = did_you_mean(path, packaged.names()) or known
        raise


def _with_bases(source: Source, chain: tuple[str, ...], found: list[EbmkitError] | None) -> Node:
    root = text.parse(source, found=found)
    if not isinstance(root.value, dict):
        raise NotASpec(
            f"a spec is a mapping, not {text.show(root.plain())}", root.place, help="a spec begins with 'ebmkit: 1'"
        )
    if source.shown:
        root = root.with_paths()
    assert isinstance(root.value, dict)
    entries = dict(root.value)
    extends = entries.pop("extends", None)
    own = replace(root, value=entries)
    if extends is None:
        return own
    base = _open_base(source, extends, chain)
    return merge(_with_bases(base, (*chain, _identity(source.name)), found), own)


def _open_base(source: Source, extends: Node, chain: tuple[str, ...]) -> Source:
    name = extends.value
    if not isinstance(name, str) or not name:
        raise BadExtends("'extends' must name one other spec", extends.place, help="extends: base.yaml")
    relative = Path(source.name).parent / name
    if not _exists(relative) and packaged.find(name) is None:
        near = Path(source.name).parent.glob("*.y*ml")
        known = [*packaged.names(), *(path.name for path in near if _exists(path))]  # a link may lead nowhere
        raise BadExtends(f"there is no spec '{name}'", extends.place, label=did_you_mean(name, known))
    path = str(relative) if _exists(relative) else name
    if _identity(str(packaged.find(path) or path)) in (*chain, _identity(source.name)):
        raise BadExtends(f"'{name}' extends this spec, so the chain is circular", extends.place)
    if len(chain) >= MAX_EXTENDS:
        raise BadExtends(f"more than {MAX_EXTENDS} specs extend each other", extends.place)
    try:
        return open_spec(path)
    except (Unreadable, TooLarge) as error:
        raise BadExtends(error.message, extends.place) from error


def moved_base(source: Source, target: Path) -> str | None:
    """The value of `extends:` after the spec is copied to `target`, or None if it does not change."""
    root = text.parse(source)
    extends = root.value.get("extends") if isinstance(root.value, dict) else None
    if extends is None or not isinstance(extends.value, str):
        return None
    base = Path(source.name).parent / extends.value
    moved = Path(os.path.relpath(base, target.parent)).as_posix()
    return moved if _exists(base) and moved != extends.value else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that the system refuses, for example because it is too long
        return False


def _identity(path: str) -> str:
    return str(Path(path).resolve())


def merge(base: Node, over: Node) -> Node:
    """Merge mappings recursively; all else, including lists, is replaced. A changed `use` drops the old parameters."""
    if not isinstance(over.value, dict):
        return over
    below = base.value
    if isinstance(below, str) and "use" not in over.value:
        below = {"use": base}  # `sampler: langevin` is short for `sampler: {use: langevin}`
    if not isinstance(below, dict) or changes_use(below, over.value):
        return over
    merged = dict(below)
    for name, child in over.value.items():
        merged[name] = merge(below[name], child) if name in below else child
    return replace(over, value=merged)
