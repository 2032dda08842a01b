"""A program that carries out several commands in one process, as `ebmkit` would each, and reports what happened.

It reads a JSON list of commands from stdin. The command `["complete", "show", "bregman"]` asks for completions.
"""

from __future__ import annotations

import json
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


if __name__ == "__main__":
    from ebmkit.cli import prepare_process

    prepare_process()
    done = [carry_out(words) for words in json.load(sys.stdin)]
    json.dump(done, sys.stdout)
    sys.stdout.flush()
