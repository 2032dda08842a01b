"""Plugins imported by another process, so that listing them cannot end, stop or change this one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from ebmkit.errors.describe import describe_error
from ebmkit.registry.catalogue import Broken, Catalogue, Malformed, read_catalogue

#: Seconds after which the import of one plugin is ended.
LONGEST_IMPORT = 60.0

#: `-P`: the current folder is no place for modules, unless it is in the search path that is passed.
_PROGRAM = """
import json, sys
given = json.loads(sys.stdin.buffer.readline())
sys.path[:] = given["path"]
import ebmkit.api, ebmkit.registry.parameter_check  # before the first plugin, whose time is measured
from ebmkit.registry.import_server import serve
serve(given["namespaces"], given["seconds"])
"""


def imported_apart(namespaces: Sequence[str]) -> dict[str, Catalogue | Broken]:
    """Import plugins in another process, and in a further one where a plugin ended the first."""
    found: dict[str, Catalogue | Broken] = {}
    while rest := [name for name in namespaces if name not in found]:
        found |= _some(rest)
    return found


def _some(namespaces: Sequence[str]) -> dict[str, Catalogue | Broken]:
    """The plugins up to the first that ended the process."""
    given = {"path": sys.path, "namespaces": list(namespaces), "seconds": LONGEST_IMPORT}
    command = [sys.executable, "-P", "-c", _PROGRAM]
    try:
        done = subprocess.run(command, input=json.dumps(given).encode() + b"\n", stdout=subprocess.PIPE, check=False)
    except OSError as error:
        return {name: Broken(f"no process could be started to import it: {error.strerror}") for name in namespaces}
    found: dict[str, Catalogue | Broken] = {}
    *lines, rest = done.stdout.decode("utf-8", "replace").split("\n")
    while lines and (name := _last_word(namespaces, len(found))) is not None and lines[0].startswith("{"):
        found[name] = _read(lines.pop(0))
    if (guilty := _last_word(namespaces, len(found))) is not None:
        found[guilty] = Broken(f"importing it {_ending(done.returncode, [*lines, rest])}")
    return found


def _last_word(namespaces: Sequence[str], count: int) -> str | None:
    """The plugin that is next after `count` of them."""
    return namespaces[count] if count < len(namespaces) else None


def _read(line: str) -> Catalogue | Broken:
    try:
        content: Any = json.loads(line)
        return Broken(**content) if "reason" in content else read_catalogue(content)
    except (ValueError, TypeError, Malformed) as error:
        return Broken(f"what it offers cannot be described: {describe_error(error)}")


def _ending(status: int, lines: list[str]) -> str:
    """How the process ended, from what `faulthandler` of Python left."""
    text = "\n".join(lines)
    # After a crash the first thread is the one that crashed; otherwise the main thread is the last.
    thread = text if "Current thread" in text else text.rpartition("\nThread ")[2]
    where = re.search(r'File "([^"\n]{1,300})", line (\d+)', thread)
    place = f" ({where[1]}, line {where[2]})" if where else ""
    if "Timeout (" in text:
        return f"did not end within {LONGEST_IMPORT:g} seconds{place}"
    if fatal := re.search(r"Fatal Python error: ([^\n]{1,100})", text):
        return f"ended the process: {fatal[1]}{place}"
    ended = f"by signal {-status}" if status < 0 else f"with exit status {status}"
    return f"ended the process {ended}"
