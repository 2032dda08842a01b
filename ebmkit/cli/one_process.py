"""Verbs that make runs do so in one process."""

from __future__ import annotations

import signal
import time

from ebmkit.engine.world import require_one_process, world

#: Seconds in which a launcher notices that the first process has failed, and ends the others.
GRACE = 5.0


def refuse_several_processes() -> None:
    """Raise where a launcher started several. The first one says so; the others wait to be ended in silence."""
    if world().rank > 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(GRACE)
    require_one_process()
