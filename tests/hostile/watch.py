"""Watches this process while it reads something hostile: what it opens and changes, what it runs, how much it uses."""

from __future__ import annotations

import gc
import os
import re
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

#: Bytes and CPU seconds that one hostile file may cost on top of what the process uses already.
MOST_BYTES, MOST_SECONDS = 500 << 20, 0.5

#: Events of `sys.audit` that run programs, open connections or unpickle.
RUNNING = {
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn"),
    *("pickle.find_class", "marshal.load", "socket.connect", "socket.bind", "ctypes.dlopen", "os.startfile"),
}

#: Events that change what is stored, and the positions of their paths.
CHANGING = {
    **{f"os.{name}": (0,) for name in ("remove", "mkdir", "rmdir", "truncate", "chmod", "chown", "setxattr", "utime")},
    **{"os.rename": (0, 1), "os.link": (1,), "os.symlink": (1,), "shutil.rmtree": (0,), "shutil.move": (0, 1)},
}

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """As a context manager, records what happens inside. `check` then fails if something did that must not.

    Files may be changed below the `own` folders only. Imports of installed modules are allowed, those from the folders
    of a hostile file are not.
    """

    current: Watch | None = None
    hooked = False

    def __init__(self, *own: Path) -> None:
        self.own = [os.path.realpath(folder) for folder in own]
        self.wrong: list[str] = []
        self.seconds = 0.0
        self.bytes = 0

    def __enter__(self) -> Self:
        if not Watch.hooked:
            Watch.hooked = True
            sys.addaudithook(_hook)  # it can never be removed
        self._modules = set(sys.modules)
        self._writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        self._collects = gc.isenabled()
        gc.disable()  # what earlier tests left takes up to a second to search
        self._before = _reset_peak()
        self._began = time.process_time()
        Watch.current = self
        return self

    def __exit__(self, *error: object) -> None:
        Watch.current = None
        self.seconds = time.process_time() - self._began
        self.bytes = _peak() - self._before
        if self._collects:
            gc.enable()
        sys.dont_write_bytecode = self._writes_bytecode
        for name in set(sys.modules) - self._modules:
            file = getattr(sys.modules[name], "__file__", None)
            if file and self._is_own(file):
                self.wrong.append(f"imported {name} from {file}")

    def meet(self, event: str, arguments: Sequence[Any]) -> None:
        """The interpreter is about to do something."""
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, str | bytes | os.PathLike) and flags & _WRITING and not self._is_own(path):
                self.wrong.append(f"opened {os.fsdecode(path)} for writing")
        elif event in RUNNING:
            self.wrong.append(f"{event} {arguments!r}"[:300])
        else:
            for position in CHANGING.get(event, ()):
                path = arguments[position]
                if not isinstance(path, int) and not self._is_own(_below(path, arguments[-1])):
                    self.wrong.append(f"{event} {arguments!r}"[:300])

    def _is_own(self, path: Any) -> bool:
        text = os.fsdecode(path)
        if text == os.devnull:
            return True
        # The folder, not the file itself: replacing a link does not touch what it leads to.
        real = os.path.join(os.path.realpath(os.path.dirname(text) or "."), os.path.basename(text))  # noqa: PTH118, PTH119, PTH120
        return any(real == folder or real.startswith(folder + os.sep) for folder in self.own)

    def check(self, limit: float = MOST_SECONDS) -> None:
        """Raise an AssertionError that names what must not happen."""
        assert not self.wrong, self.wrong
        assert self.bytes < MOST_BYTES, f"{self.bytes:,} bytes"
        assert self.seconds < limit, f"{self.seconds:.2f} s of CPU time"


def _below(path: Any, folder: Any) -> Any:
    """The path, which may be relative to a folder that is open under a number."""
    if isinstance(folder, int) and folder >= 0 and not os.path.isabs(path):  # noqa: PTH117
        return f"{os.readlink(f'/proc/self/fd/{folder}')}/{os.fsdecode(path)}"  # noqa: PTH115
    return path


def _hook(event: str, arguments: Sequence[Any]) -> None:
    watch = Watch.current
    if watch is not None and (event == "open" or event in RUNNING or event in CHANGING):
        Watch.current = None  # what the watch itself does is not watched
        try:
            watch.meet(event, arguments)
        finally:
            Watch.current = watch


def _reset_peak() -> int:
    """Begin a new measurement of the largest amount of memory, where the system can; returns what is used now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:
        return _peak()


def _peak() -> int:
    try:
        return _status("VmHWM")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _status(key: str) -> int:
    found = re.search(rf"{key}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found
    return int(found[1]) * 1024
