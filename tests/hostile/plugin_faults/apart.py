"""Imports that end or stop the process in which they happen."""

from __future__ import annotations

from .fault import Fault, imported

#: Imports that end or stop the process in which they happen: only verbs that import plugins in another process survive.
APART = {
    "a crash": Fault(
        imported("import ctypes\nctypes.string_at(0)"), "importing it ended the process: Segmentation fault"
    ),
    "a signal": Fault(
        imported("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
        "importing it ended the process by signal 9",
    ),
    "os._exit without its name": Fault(
        imported("import posix\nposix._exit(7)"), "importing it ended the process with exit status 7"
    ),
    "an endless loop": Fault(imported("while True: pass"), "importing it did not end within 2 seconds"),
    "an endless wait": Fault(imported("import time\ntime.sleep(1e6)"), "importing it did not end within 2 seconds"),
}
