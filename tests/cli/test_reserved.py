"""The verbs are no namespaces of plugins, whose commands could not be called."""

import subprocess
import sys

from ebmkit.cli import VERBS
from ebmkit.registry import discovery
from tests.cli.typed import ebmkit
from tests.planted import GENERATOR


def test_all_verbs_are_reserved():
    assert {verb for verbs in VERBS.values() for verb in verbs} == set(discovery.VERBS)


def test_a_file_may_have_the_name_of_a_verb_but_not_that_of_ebmkit(tmp_path):
    for name, status in (("report", 0), ("ebmkit", 3)):
        file = tmp_path / f"{name}.py"
        file.write_text(GENERATOR)
        done = ebmkit("list", "bregman", "--plugin", str(file), status=status)
        assert ("report.square" in done.stdout) == (status == 0)
        assert "kl" in ebmkit("list", "bregman").stdout
    assert "the namespace 'ebmkit' is taken by ebmkit itself" in done.stderr


WAITS = """
import sys, threading, time
import ebmkit.cli
ebmkit.cli.SECONDS_OF_THREADS = 0.1
threading.Thread(target=time.sleep, args=(1,), name="of a plugin \\x1b[31m").start()
sys.argv = ["ebmkit", "--version"]
ebmkit.cli.main()
"""


def test_a_thread_that_keeps_the_process_alive_is_named():
    done = subprocess.run([sys.executable, "-c", WAITS], capture_output=True, text=True)
    assert done.stderr.startswith("waiting for the thread 'of a plugin \\x1b[31m', which a plugin or library started")
    assert done.returncode == 0
