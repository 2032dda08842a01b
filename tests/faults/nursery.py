"""Processes that can be killed by the hundred.

Importing torch takes seconds. One process does it once, and forks a child for every command: the child runs `ebmkit`
exactly as a shell would start it, and dies as a process of its own. Run as a script, this file is that process; with
arguments it is a single child.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True)
class Life:
    """How a child ended."""

    #: The exit status, or minus the number of the signal that killed it.
    status: int
    seconds: float
    said: str

    @property
    def killed(self) -> bool:
        """Whether it was the signal SIGKILL that ended it."""
        return self.status == -signal.SIGKILL


class Nursery:
    """The process that forks, as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.said = folder / "said.txt"

    def __enter__(self) -> Self:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg", "PYDANTIC_DISABLE_PLUGINS": "__all__"}
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()  # the end of its orders
        self._process.wait()

    def live(self, *arguments: object, **fate: Any) -> Life:
        """Let a child carry out `ebmkit ARGUMENTS`. See `begin` for its fate."""
        self.begin(*arguments, **fate)
        return self.end()

    def begin(
        self,
        *arguments: object,
        signal_after: float | None = None,
        signal_when: tuple[Path, str, str] | None = None,
        number: int = signal.SIGKILL,
        draw: bool = False,
    ) -> None:
        """Send the child the signal `number` after so many seconds, or as soon as a folder holds a file that matches a
        pattern and has a text in it. Without `draw` the pictures, which take longest of all, are left out."""
        assert self._process.stdin
        when = [str(part) for part in signal_when] if signal_when else None
        order = {
            "arguments": [str(argument) for argument in arguments],
            "after": signal_after,
            "when": when,
            "number": int(number),
            "draw": draw,
            "said": str(self.said),
        }
        print(json.dumps(order), file=self._process.stdin, flush=True)

    def end(self) -> Life:
        """Wait until the child is dead."""
        assert self._process.stdout
        status, seconds = json.loads(self._process.stdout.readline())
        return Life(status, seconds, self.said.read_text(errors="replace"))


def serve() -> None:
    """Carry out orders, one a line; answer each with the status and the seconds."""
    # What children would import. Nothing is computed here: autograd does not survive a fork.
    for name in ("matplotlib.figure", "rich.progress", "torch._dynamo", "torch._inductor.config"):
        import_module(name)
    for name in ("cli.run", "cli.resume", "cli.terminal", "engine.session", "report.drawing"):
        import_module(f"ebmkit.{name}")
    import_module("ebmkit").load_spec("quickstart")

    for line in sys.stdin:
        order = json.loads(line)
        began = time.monotonic()
        child = os.fork()
        if child == 0:
            with Path(order["said"]).open("wb") as said:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            be(order["arguments"], draw=order["draw"])
        _send(child, order)
        _, code = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(code), time.monotonic() - began]), flush=True)


def be(arguments: Sequence[str], *, draw: bool) -> None:
    """Become the command, and never come back."""
    status = 1
    try:
        if not draw:
            from ebmkit.report import drawn, page, summary

            drawn.draw_panels = lambda view: []
            summary.draw_summary = lambda *content: b"a picture"
            page.write_report = lambda *content: "a report"
        sys.argv = ["ebmkit", *arguments]
        from ebmkit.cli import main as command

        command()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _send(child: int, order: dict[str, Any]) -> None:
    if order["when"] is not None:
        folder, pattern, text = order["when"]
        while not _is_there(Path(folder), pattern, text) and not _is_dead(child):
            time.sleep(0.0002)
    elif order["after"] is not None:
        time.sleep(order["after"])
    else:
        return
    os.kill(child, order["number"])  # to a zombie, which it does not hurt


def _is_there(folder: Path, pattern: str, text: str) -> bool:
    try:
        return any(not text or text in path.read_text() for path in folder.glob(pattern))
    except OSError:  # renamed in between
        return False


def _is_dead(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


if __name__ == "__main__":
    be(sys.argv[1:], draw=False) if sys.argv[1:] else serve()
