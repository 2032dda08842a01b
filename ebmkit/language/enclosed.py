"""Files that a run folder receives in addition to its spec: data and weights that Python passed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from pathlib import Path


class Enclosed:
    """Files in a temporary folder, which lasts as long as this object. A run copies them into its own folder, where its
    resolved spec finds them by their names."""

    def __init__(self) -> None:
        #: The files by the names that a spec gives them.
        self.files: dict[str, Path] = {}

    def add(self, stem: str, suffix: str, content: bytes) -> str:
        """A file; returns its name, which contains its hash, so that the hash of a spec depends on what is in it."""
        name = f"{stem}-{hashlib.sha256(content).hexdigest()[:16]}{suffix}"
        if name not in self.files:
            self.files[name] = self._folder() / name
            self.files[name].write_bytes(content)
        return name

    def _folder(self) -> Path:
        for known in self.files.values():
            return known.parent
        folder = tempfile.mkdtemp(prefix="ebmkit-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)
