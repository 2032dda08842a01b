"""A client of the language server protocol over stdio, as small as a test of one server needs."""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.patience import PATIENCE

Json = dict[str, Any]


class Mark(NamedTuple):
    """A diagnostic; line and column count from 1, as editors show them."""

    line: int
    column: int
    end_column: int
    message: str

    @classmethod
    def of(cls, diagnostic: Json) -> Self:
        start, end = diagnostic["range"]["start"], diagnostic["range"]["end"]
        return cls(start["line"] + 1, start["character"] + 1, end["character"] + 1, diagnostic["message"])


class Document(NamedTuple):
    """An open file, and what the server marks in it."""

    server: LanguageServer
    uri: str
    marks: list[Mark]

    def completions(self, line: int, column: int) -> list[str]:
        """The labels offered with the cursor before `column` of `line`, both from 1."""
        answer = self._ask("completion", line, column)
        items = answer["items"] if isinstance(answer, dict) else answer or []
        return [item["label"] for item in items]

    def hover(self, line: int, column: int) -> str:
        contents = (self._ask("hover", line, column) or {}).get("contents", "")
        return contents["value"] if isinstance(contents, dict) else str(contents)

    def _ask(self, what: str, line: int, column: int) -> Any:
        position = {"line": line - 1, "character": column - 1}
        return self.server.request(f"textDocument/{what}", {"textDocument": {"uri": self.uri}, "position": position})


class LanguageServer:
    """One server process; a context manager. `settings` is what an editor's settings file would say."""

    def __init__(self, command: Sequence[str], folder: Path, settings: Json, timeout: float = PATIENCE) -> None:
        self.timeout = timeout
        self._settings = settings
        self._folder = folder
        self._numbers = itertools.count(1)
        self._inbox: queue.Queue[Json | None] = queue.Queue()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        root = self._folder.as_uri()
        self.request(
            "initialize",
            {
                "processId": None,
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": "specs"}],
                "capabilities": {
                    "workspace": {"configuration": True},
                    "textDocument": {
                        "completion": {"completionItem": {"documentationFormat": ["markdown"]}},
                        "hover": {"contentFormat": ["markdown"]},
                        "publishDiagnostics": {},
                    },
                },
            },
        )
        self.notify("initialized", {})
        self.notify("workspace/didChangeConfiguration", {"settings": self._settings})
        self._answer(self._await(lambda m: _is(m, "workspace/configuration")))
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.request("shutdown", None)
            self.notify("exit", None)
            self._process.wait(self.timeout)
        except (OSError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    def open(self, text: str, suffix: str = ".yaml") -> Document:
        """Open a new file, which need not exist on disk, and wait until the server has marked it."""
        # A fresh name each time: the server remembers what it read under a name and version.
        uri = (self._folder / f"{next(self._numbers)}{suffix}").as_uri()
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        published = self._await(lambda m: _is(m, "textDocument/publishDiagnostics") and m["params"]["uri"] == uri)
        return Document(self, uri, sorted(map(Mark.of, published["params"]["diagnostics"])))

    # The wire.

    def request(self, method: str, params: Any) -> Any:
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        answer = self._await(lambda m: m.get("id") == number and "method" not in m)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer.get("result")

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: Json) -> None:
        if message.get("params", ...) is None:
            message = {key: value for key, value in message.items() if key != "params"}
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _await(self, wanted: Any) -> Json:
        """The next message that is wanted; the server's own questions are answered meanwhile, the rest is dropped."""
        while True:
            try:
                message = self._inbox.get(timeout=self.timeout)
            except queue.Empty:
                raise TimeoutError(f"the language server was silent for {self.timeout} s") from None
            if message is None:
                raise RuntimeError(f"the language server ended with status {self._process.wait()}")
            if wanted(message):
                return message
            if "id" in message and "method" in message:
                self._answer(message)

    def _answer(self, question: Json) -> None:
        result = None
        if _is(question, "workspace/configuration"):
            result = [self._settings.get(item.get("section")) for item in question["params"]["items"]]
        self._send({"id": question["id"], "result": result})

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline().strip()) != b"":
                key, _, value = line.partition(b":")
                if key.lower() == b"content-length":
                    length = int(value)
            if length == 0:  # end of file, not an empty message: those do not exist
                self._inbox.put(None)
                return
            self._inbox.put(json.loads(stream.read(length)))


def _is(message: Json, method: str) -> bool:
    return message.get("method") == method
