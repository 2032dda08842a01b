"""Puts faulty distributions into a folder, as an installer would."""

from __future__ import annotations

import re
from pathlib import Path

from .plugin_faults import SQUARE, Fault


def namespace_of(kind: str) -> str:
    """A namespace for a kind of fault: `a_mutable_default`."""
    return "f_" + re.sub(r"[^a-z0-9]+", "_", kind.lower()).strip("_")[:40]


def distribution_of(kind: str) -> str:
    return f"ebmkit-{namespace_of(kind).replace('_', '-')}"


def shown_as(kind: str, fault: Fault) -> str:
    """How the distribution is named in messages."""
    folder = f"{distribution_of(kind).replace('-', '_')}-1.0.dist-info"
    return fault.shown.replace("DISTRIBUTION", distribution_of(kind)).replace("FOLDER", folder)


def spec_of(kind: str, fault: Fault) -> str:
    """The spec that needs the plugin."""
    return fault.spec.replace("NAMESPACE", namespace_of(kind))


def plant(folder: Path, kind: str, fault: Fault) -> None:
    """Install a distribution with this fault, or two of them."""
    _plant(folder, kind, fault, distribution_of(kind))
    if fault.twin:
        _plant(folder, kind, fault, f"{distribution_of(kind)}-twin")


def _plant(folder: Path, kind: str, fault: Fault, distribution: str) -> None:
    namespace = namespace_of(kind)
    module = f"module_{namespace}"

    def content(text: str | bytes) -> bytes:
        words = {"NAMESPACE": namespace, "MODULE": module, "DISTRIBUTION": distribution}
        written = text.encode() if isinstance(text, str) else text
        for word, meaning in words.items():
            written = written.replace(word.encode(), meaning.encode())
        return written

    if fault.code is None:
        (folder / module).mkdir()
    else:
        (folder / f"{module}.py").write_bytes(content(fault.code))
    info = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    if fault.metadata is not None:
        (info / "METADATA").write_bytes(content(fault.metadata))
    (info / "entry_points.txt").write_bytes(content(fault.entry_points))
    for name, text in fault.files.items():
        (info / name).write_bytes(content(text))


def plant_healthy(folder: Path) -> None:
    """Install a distribution without any fault, whose namespace is `healthy`."""
    (folder / "module_healthy.py").write_text(SQUARE)
    info = folder / "ebmkit_healthy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ebmkit-healthy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ebmkit]\nhealthy = module_healthy\n")
