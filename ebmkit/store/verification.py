"""Whether a bundle is what it says: its files, its spec, the data and the versions of this machine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from ebmkit.engine.folder.locked import packages, read_lock, sha256_of
from ebmkit.engine.folder.parameters import read_parameters
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.errors.base import EbmkitError, Mistakes, first_of
from ebmkit.errors.running import StorageFailed
from ebmkit.language.load import load_spec
from ebmkit.store.archive import Archive, open_archive

#: `open` is what is not known here: data that are not on this machine, a plugin that is not installed.
Outcome: TypeAlias = Literal["intact", "wrong", "open"]


class Check(NamedTuple):
    """One thing that was compared."""

    what: str
    outcome: Outcome
    words: str


def verify(path: Path, plugins: Sequence[str] = (), unpack: Path | None = None) -> list[Check]:
    """The checks of a bundle. If its files are intact, it can be unpacked to a new folder in `unpack`."""
    with open_archive(path) as archive:
        files = _files(archive)
        if files.outcome == "wrong":
            return [files]
        with tempfile.TemporaryDirectory(prefix="ebmkit-") as temporary:
            folder = Path(temporary) / "run" if unpack is None else unpack / archive.manifest["run"]
            archive.unpack(folder)
            return [files, *_inside(archive, folder, plugins)]


def _files(archive: Archive) -> Check:
    wrong = archive.damaged() + [f"{name} is not in the manifest" for name in archive.unlisted]
    if wrong:
        return Check("files", "wrong", "; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if wrong[5:] else ""))
    size = sum(of["bytes"] for of in archive.files.values())
    return Check(
        "files", "intact", f"{len(archive.files)} files of {size / 1e6:.1f} MB have the hashes of the manifest"
    )


def _inside(archive: Archive, folder: Path, plugins: Sequence[str]) -> Iterator[Check]:
    """The checks of an unpacked run."""
    try:
        summary, lock = read_summary(folder), read_lock(folder)
    except StorageFailed as error:
        yield Check("run", "wrong", error.message)
        return
    hashes = {archive.manifest["hash"], summary["hash"], lock.get("experiment")}
    if len(hashes) > 1:
        yield Check("run", "wrong", "manifest, summary and lock are of different experiments")
        return
    yield Check("run", "intact", f"{summary['status']} at step {summary['step']} of {summary['steps']}")
    yield _spec(folder, summary["hash"], plugins)
    yield from _data(folder, lock)
    yield _versions(lock)


def _spec(folder: Path, expected: str, plugins: Sequence[str]) -> Check:
    """Whether the spec, read by this installation, is the experiment of the run."""
    try:
        plan = load_spec(folder / "resolved.yaml", plugins=plugins)
    except (EbmkitError, Mistakes) as error:
        return Check("spec", "open", f"this installation cannot read it: {first_of(error).message}")
    if plan.hash != expected:
        return Check("spec", "wrong", f"its hash is {plan.hash[:8]}, but the run says {expected[:8]}")
    return Check("spec", "intact", f"it has the hash of the run, {expected[:8]}")


def _data(folder: Path, lock: dict[str, Any]) -> Iterator[Check]:
    """Whether the data files that the run read are in the bundle or on this machine."""
    files, places = lock.get("data"), read_parameters(folder).get("files")
    for name, sha256 in (files if isinstance(files, dict) else {}).items():
        found = places.get(name) if isinstance(places, dict) else None
        inside = folder / Path(name).name
        path = inside if inside.is_file() else Path(found if isinstance(found, str) else name)
        if not path.is_file():
            yield Check("data", "open", f"{name} is not here; its SHA-256 is {sha256}")
        elif sha256_of(path) == sha256:
            yield Check("data", "intact", f"{name} has the hash of the lock")
        else:
            yield Check("data", "wrong", f"{name} has another hash than that of the lock")


def _versions(lock: dict[str, Any]) -> Check:
    then, now = lock.get("packages"), packages()
    if then == now:
        return Check("versions", "intact", ", ".join(f"{name} {version}" for name, version in now.items()))
    said = ", ".join(f"{name} {version}" for name, version in (then if isinstance(then, dict) else {}).items())
    return Check("versions", "open", f"it was made with {said}; results of other versions may differ in the last bits")
