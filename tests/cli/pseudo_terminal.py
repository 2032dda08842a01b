"""A terminal of a given width: a program runs in a pseudo-terminal, and what it wrote is laid out as on a screen."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

from tests.patience import PATIENCE

#: A control sequence: its numbers and its final letter.
SEQUENCE = re.compile(r"\x1b\[[?]?([0-9;]*)([A-Za-z])")


class Terminal:
    """`python -c code` with this terminal as its standard input and output, and as what sends it Ctrl-C."""

    def __init__(self, code: str, columns: int) -> None:
        self.columns, self.written = columns, ""
        self._deadline = time.monotonic() + PATIENCE
        self.child, self.master = pty.fork()
        if self.child == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            environment = {**os.environ, "TERM": "xterm", "COLUMNS": "", "LINES": ""}
            os.execve(sys.executable, [sys.executable, "-c", code], environment)

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self.master, keys.encode())

    def wait_for(self, pattern: str) -> None:
        """Read until the screen shows a line that matches, or the program ends."""
        while not any(re.search(pattern, line) for line in self.screen()):
            if not self._read():
                raise AssertionError(f"{pattern!r} never appeared on\n{self.written}")

    def end(self) -> int:
        """Read until the program ends; its exit status."""
        while self._read():
            pass
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

    def screen(self) -> list[str]:
        """The lines as a terminal shows them, without colours. A full line is continued in the next one."""
        lines, row, column, at = [""], 0, 0, 0
        while at < len(self.written):
            character = self.written[at]
            if found := SEQUENCE.match(self.written, at):
                at = found.end()
                count = int(found[1] or 1) if found[1].isdigit() or not found[1] else 1
                if found[2] == "A":
                    row = max(0, row - count)
                elif found[2] == "K":
                    lines[row] = ""
                continue
            at += 1
            if character == "\r":
                column = 0
            elif character == "\n":
                row += 1
            else:
                if column == self.columns:  # the cursor waits in the last column until something follows
                    row, column = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
                line = lines[row].ljust(column)
                lines[row] = line[:column] + character + line[column + 1 :]
                column += 1
            lines += [""] * (row + 1 - len(lines))
        return lines

    def _read(self) -> bool:
        if time.monotonic() > self._deadline or not select.select([self.master], [], [], PATIENCE)[0]:
            os.kill(self.child, signal.SIGKILL)
            raise AssertionError(f"the program does not end; it wrote\n{self.written[-2000:]}")
        try:
            some = os.read(self.master, 65536)
        except OSError:  # the program has ended
            return False
        self.written += some.decode(errors="replace")
        return bool(some)
