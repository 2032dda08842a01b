"""Verbs that run experiments use one process."""

from __future__ import annotations

import signal
import time

from ebmkit.engine.world import require_one_process, world

#: Seconds within which a launcher notices that the first process has failed, and ends the others.
GRACE = 5.0


def refuse_several_processes() -> None:
    """Raise if a launcher started several processes. The first one reports it; the others wait silently to be ended."""
    if world().rank > 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(GRACE)
    require_one_process()
