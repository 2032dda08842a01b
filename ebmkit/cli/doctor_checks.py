"""Checks of the machine and the installation, without importing torch in this process."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from ebmkit.contracts.version import __version__
from ebmkit.errors.printable import printable
from ebmkit.registry.catalogue import Broken
from ebmkit.registry.listing import Listing
from ebmkit.registry.loading import Plugins

#: Extras that no component needs, and the methods of `ebmkit.open_run(...)` that do.
METHODS = {"ebmkit-core[arviz]": "to_arviz"}


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    subject: str
    verdict: Literal["ok", "note", "bad"]
    words: str


def checkup() -> list[Finding]:
    """All checks."""
    return [*_python(), *_dependencies(), *_torch(), *_namesake(), *_gpu(), *_plugins(), *_disk()]


def _python() -> Iterator[Finding]:
    yield Finding("ebmkit-core", "ok", __version__)
    verdict: Literal["ok", "bad"] = "ok" if sys.version_info >= (3, 11) else "bad"
    yield Finding("python", verdict, f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _dependencies() -> Iterator[Finding]:
    """Compare each requirement of the distribution with the installed version; missing extras are only notes, which
    name the components that need them."""
    for text in requires("ebmkit-core") or ():
        requirement = Requirement(text)
        extra = re.search(r"extra == ['\"](\w+)", text)
        if extra and extra[1] == "dev":
            continue
        try:
            found = version(requirement.name)
        except PackageNotFoundError:
            hint = _extra_words(f"ebmkit-core[{extra[1]}]") if extra else "reinstall ebmkit-core"
            yield Finding(requirement.name, "note" if extra else "bad", f"not installed; {hint}")
            continue
        fits = requirement.specifier.contains(found, prereleases=True)
        yield Finding(
            requirement.name, "ok" if fits else "bad", found if fits else f"{found}, needs {requirement.specifier}"
        )


def _torch() -> Iterator[Finding]:
    """Whether torch can be imported, which takes seconds and needs libraries of the system: tried in another process.

    That process does not import from the current folder, which may be untrusted.
    """
    try:
        version("torch")
    except PackageNotFoundError:
        return  # reported with the other dependencies
    tried = subprocess.run([sys.executable, "-P", "-c", "import torch"], capture_output=True, text=True, check=False)
    if tried.returncode:
        reason = printable(tried.stderr.strip().rpartition("\n")[2], "")
        yield Finding("torch", "bad", f"cannot be imported: {reason or f'exit status {tried.returncode}'}")


def _extra_words(extra: str) -> str:
    """The components that need an extra, or the method that does, and how to install it."""
    components = [offer.load() for offer in Plugins().builtin]
    users = [cls for cls in components if extra in cls.needs_packages.values()]
    uses = [f"{cls.component_kind} '{cls.component_name}'" for cls in users]
    named = f"run.{METHODS[extra]}()" if extra in METHODS else ", ".join(uses)
    return f"for {named}: pip install '{extra}'"


def _namesake() -> Iterator[Finding]:
    """The distribution `ebmkit` on PyPI is another project."""
    try:
        found = version("ebmkit")
    except PackageNotFoundError:
        return
    yield Finding("ebmkit", "note", f"{found}, another project, is installed; this project is 'ebmkit-core'")


def _gpu() -> Iterator[Finding]:
    if shutil.which("nvidia-smi") is None:
        yield Finding("gpu", "note", "no NVIDIA driver found; runs use the CPU, or mps on Apple silicon")
    else:
        yield Finding("gpu", "ok", "an NVIDIA driver is installed")
    yield Finding("cores", "ok", str(os.cpu_count()))


def _plugins() -> Iterator[Finding]:
    """Each plugin is imported, in another process."""
    listing = Listing()
    catalogues = listing.catalogues(fresh=True)
    for namespace, plugin in listing.plugins.items():
        known = catalogues.get(namespace)
        if plugin.disabled:
            yield Finding(namespace, "note", f"{plugin.label} cannot be used: {plugin.trouble}")
        elif isinstance(known, Broken):
            yield Finding(namespace, "bad", f"{plugin.label} cannot be used: {known.reason}")
        elif known and known.mistakes:
            yield Finding(namespace, "bad", f"{plugin.label} can be used in part only: {'; '.join(known.mistakes)}")
        else:
            yield Finding(namespace, "ok", f"plugin of {plugin.distribution} {plugin.version}")
    for note in listing.notes:
        yield Finding("manifest", "note", note)


def _disk() -> Iterator[Finding]:
    here = Path.cwd()
    writable = os.access(here, os.W_OK)
    free = shutil.disk_usage(here).free / 2**30
    words = f"{free:.1f} GiB free" if writable else "runs cannot be written to this folder"
    yield Finding("runs folder", "bad" if not writable else "ok" if free > 1 else "note", words)
