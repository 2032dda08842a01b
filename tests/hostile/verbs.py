"""A program that carries out many commands in one process, as `ebmkit` would each, and reports what happened.

It reads a JSON list from stdin: folders with installed distributions, and for each the commands that are given there,
one folder after the other. The command `["complete", "show", "bregman"]` asks for completions.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from typing import Any


def carry_out(words: list[str]) -> dict[str, Any]:
    from click.shell_completion import BashComplete
    from click.testing import CliRunner

    from ebmkit.cli import group

    if words[0] == "complete":
        found = BashComplete(group, {}, "ebmkit", "_EBMKIT_COMPLETE").get_completions(words[1:], "")
        return {"status": 0, "stdout": "\n".join(item.value for item in found), "stderr": "", "traceback": ""}
    done = CliRunner().invoke(group, words, prog_name="ebmkit")
    raised = done.exception
    unexpected = raised is not None and not isinstance(raised, SystemExit)
    return {
        "status": done.exit_code,
        "stdout": done.stdout,
        "stderr": done.stderr,
        "traceback": "".join(traceback.format_exception(raised)) if unexpected else "",
    }


def in_folder(folder: str, commands: list[list[str]]) -> list[dict[str, Any]]:
    """What the commands do where the distributions of this folder are installed."""
    sys.path.insert(1, folder)
    os.chdir(folder)
    importlib.invalidate_caches()
    try:
        return [carry_out(words) for words in commands]
    finally:
        sys.path.remove(folder)


if __name__ == "__main__":
    from ebmkit.cli import prepare_process

    prepare_process()
    done = [in_folder(folder, commands) for folder, commands in json.load(sys.stdin)]
    json.dump(done, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # threads of the plugins may never end
