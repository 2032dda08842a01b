"""Networks that ebmkit trains once from a packaged spec and keeps in a cache, as ordinary run folders."""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import torch

from ebmkit.contracts.extractor import Trained
from ebmkit.contracts.user_cache import user_cache
from ebmkit.contracts.version import __version__
from ebmkit.engine import session
from ebmkit.engine.folder.run_summary import read_summary
from ebmkit.engine.process import settings_kept
from ebmkit.engine.sampling import view_of
from ebmkit.errors.running import Drifted, ExpectationUnmet, StorageFailed
from ebmkit.language import packaged
from ebmkit.language.load import load_spec
from ebmkit.language.plan import Plan
from ebmkit.storage.atomic import make_folder, move_folder, remove_folder, storing

#: Seconds after which the temporary folder of a killed process is removed. Training takes less than a minute.
ABANDONED = 24 * 3600


def trained(spec: str) -> Trained:
    """The network of a packaged spec: from the cache, or trained now. Each process reads it once."""
    return _trained(spec, cache_folder())


def cache_folder() -> Path | None:
    """Where they are kept; None for a process without a home."""
    folder = user_cache()
    return folder and folder / "features"


@cache
def _trained(spec: str, kept: Path | None) -> Trained:
    path = packaged.find(spec)
    if path is None:
        raise StorageFailed(f"the packaged spec {spec!r} is missing")
    plan = load_spec(path)
    with settings_kept(), _default_settings():
        if kept is None:
            return _made(plan, None)
        # Other versions may train differently; machines that share the folder share the network.
        folder = kept / f"{plan.spec.name}-{plan.hash[:16]}-ebmkit-{__version__}-torch-{torch.__version__}"
        with suppress(StorageFailed, Drifted):  # absent or damaged: then it is trained again
            return _read(plan, folder)
        return _made(plan, folder)


def _read(plan: Plan, folder: Path) -> Trained:
    """A finished run that met its claims. Anything else raises `StorageFailed`."""
    summary = read_summary(folder)
    if summary["status"] != "finished" or summary["unmet"] or summary["hash"] != plan.hash:
        raise StorageFailed(f"{folder}: not a finished run of {plan.spec.name}")
    view = view_of(plan, folder, say=lambda line: None)
    names = [name for metric in plan.spec.evaluate for name in metric.results_in(plan.question)]
    results = {name: summary["results"].get(name) for name in names}
    if view.step != plan.spec.steps or not all(isinstance(value, float) for value in results.values()):
        raise StorageFailed(f"{folder}: an incomplete run")
    return Trained(view.parts.evaluated.eval().requires_grad_(False), results)


def _made(plan: Plan, folder: Path | None) -> Trained:
    """Train in a temporary folder, which is renamed when it is complete."""
    workshop = _workshop(folder)
    can_be_kept = folder is not None and workshop.parent == folder.parent
    try:
        record = session.run(plan, runs_dir=workshop)
        for failure in record.failed:
            raise failure.error
        if record.unmet:
            raise ExpectationUnmet(f"the network {plan.spec.name!r}, trained here: {record.unmet[0].message}")
        made = _read(plan, record.folder)
        if folder is not None and can_be_kept:
            _keep(plan, record.folder, folder)
        return made
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def _workshop(folder: Path | None) -> Path:
    """A new folder next to `folder`, so that it can be renamed; elsewhere if that is impossible."""
    if folder is not None:
        try:
            make_folder(folder.parent)
            with storing(folder.parent):
                for path in folder.parent.glob(".*.tmp"):  # of processes that were killed
                    if path.stat().st_mtime < time.time() - ABANDONED:
                        shutil.rmtree(path, ignore_errors=True)
                return Path(tempfile.mkdtemp(".tmp", f".{folder.name}.", folder.parent))
        except StorageFailed as error:
            warnings.warn(f"{folder.name} is trained now, but cannot be kept: {error.message}", stacklevel=2)
    with storing(Path(tempfile.gettempdir())):
        return Path(tempfile.mkdtemp(prefix="ebmkit-"))


def _keep(plan: Plan, made: Path, folder: Path) -> None:
    """Rename a run to `folder`. An intact run of a faster process stays; a damaged one is replaced."""
    try:
        with suppress(StorageFailed):
            move_folder(made, folder)
            return
        with suppress(StorageFailed, Drifted):
            _read(plan, folder)
            return
        remove_folder(folder)
        move_folder(made, folder)
    except StorageFailed as error:
        warnings.warn(f"{folder.name} could not be kept: {error.message}", stacklevel=2)


@contextmanager
def _default_settings() -> Iterator[None]:
    """Process-wide settings that a run does not set itself, as in a new process: results depend on them."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_default_dtype(before)
