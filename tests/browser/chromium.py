"""A browser without a window, steered over the pipe of the DevTools protocol, as far as tests of one page need it."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.patience import PATIENCE

Json = dict[str, Any]

#: The pipe that the browser reads from and the one that it writes to have these numbers.
READS, WRITES = 3, 4


def executable() -> str | None:
    """Where the browser is, if there is one."""
    return next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )


class Chromium:
    """One browser with one page; a context manager. Every request, message and error of the page is kept."""

    def __init__(self, path: str, timeout: float = PATIENCE) -> None:
        self.path = path
        self.timeout = timeout
        self.events: list[Json] = []
        self._numbers = itertools.count(1)
        self._session = ""
        self._unread = b""

    def __enter__(self) -> Self:
        self._profile = tempfile.mkdtemp(prefix="chromium-")
        theirs, self._write = map(_out_of_the_way, os.pipe())
        self._read, back = map(_out_of_the_way, os.pipe())

        def connect() -> None:
            os.dup2(theirs, READS)
            os.dup2(back, WRITES)

        self._process = subprocess.Popen(
            [
                self.path,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--remote-debugging-pipe",
                "--host-resolver-rules=MAP * ~NOTFOUND",  # whatever a page tries, it does not leave this machine
                f"--user-data-dir={self._profile}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(READS, WRITES),
            preexec_fn=connect,
        )
        os.close(theirs)
        os.close(back)
        page = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)

    def look(self, *, width: int, dark: bool = False, scripts: bool = True) -> None:
        """From the next page on: how wide the window is, which colours its user likes, and whether scripts run."""
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=2 if phone else 1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def open(self, path: Path) -> None:
        """Load a page and forget the one before."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self._until(lambda: any(event["method"] == "Page.loadEventFired" for event in self.events))

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, which goes to what has the focus."""
        codes = {"Home": 36, "End": 35, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13}
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key])

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        import base64

        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    @property
    def requests(self) -> list[str]:
        """The addresses that the page asked for."""
        return [each["params"]["request"]["url"] for each in self._of("Network.requestWillBeSent")]

    @property
    def failures(self) -> list[str]:
        """Why requests came to nothing: what blocked them within the browser, or the error outside."""
        failed = [each["params"] for each in self._of("Network.loadingFailed")]
        return [each.get("blockedReason") or each["errorText"] for each in failed]

    @property
    def complaints(self) -> list[str]:
        """Errors of scripts, and what the browser holds against the page, its policy included."""
        thrown = [each["params"]["exceptionDetails"]["text"] for each in self._of("Runtime.exceptionThrown")]
        return thrown + [each["params"]["entry"]["text"] for each in self._of("Log.entryAdded")]

    def settle(self, seconds: float = 0.5) -> None:
        """Let what is on its way arrive."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and select.select([self._read], [], [], left)[0]:
            self.events.append(self._message())

    def call(self, method: str, **params: Any) -> Json:
        """Say something to the browser, and wait for the answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                break
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: Json = answer["result"]
        return result

    def _of(self, method: str) -> list[Json]:
        return [event for event in self.events if event["method"] == method]

    def _until(self, done: Callable[[], bool]) -> None:
        while not done():
            self.events.append(self._message())

    def _message(self) -> Json:
        while b"\0" not in self._unread:
            if not select.select([self._read], [], [], self.timeout)[0]:
                raise TimeoutError(f"the browser was silent for {self.timeout:.0f} s")
            piece = os.read(self._read, 1 << 20)
            if not piece:
                raise RuntimeError(f"the browser ended with status {self._process.wait()}")
            self._unread += piece
        message, _, self._unread = self._unread.partition(b"\0")
        found: Json = json.loads(message)
        return found


def _out_of_the_way(descriptor: int) -> int:
    """The same end of a pipe under a high number, so that it is not overwritten when the low ones are given out."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return high
