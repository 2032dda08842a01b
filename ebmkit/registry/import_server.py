"""The process in which plugins are imported to be described: one line of JSON for each, on standard output."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ebmkit.errors.schema import PluginError
from ebmkit.registry.catalogue import Broken, catalogue_of
from ebmkit.registry.importing import Unusable
from ebmkit.registry.loading import Plugins

#: Maximum number of characters of a traceback.
MOST_TRACEBACK = 20_000


def serve(namespaces: Sequence[str], seconds: float) -> None:
    """Describe plugins, each within this time, and end the process without what they left to be done at exit."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as results:
        os.dup2(2, 1)  # compiled code may print too
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # a plugin that asks a question gets no answer
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        faulthandler.enable(results)  # a crash leaves a line in the results
        plugins = Plugins()
        plugins.found()
        for namespace in namespaces:
            faulthandler.dump_traceback_later(seconds, exit=True, file=results)
            described = _described(plugins, namespace)
            results.write(json.dumps(described) + "\n")
            results.flush()
    os._exit(0)


def _described(plugins: Plugins, namespace: str) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        loaded = plugins.load_whole(namespace)
        return catalogue_of(loaded, time.perf_counter() - started).plain()
    except PluginError as error:
        text = "".join(traceback.format_exception(error))[-MOST_TRACEBACK:]
        cause = error.__cause__
        whole = str(cause) if isinstance(cause, Unusable) else ""  # a message is shortened
        reason = whole or error.message.partition("cannot be used: ")[2] or error.message
        return asdict(Broken(reason, text))
