"""Output of a run in a terminal."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import click
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ebmkit.cli.progress_line import ProgressLine
from ebmkit.engine.expectations import claim_in_words, is_met
from ebmkit.engine.folder.record import Record
from ebmkit.engine.telling.meanings import meanings
from ebmkit.engine.telling.progress import Position
from ebmkit.errors.printable import printable


class Watch:
    """Prints the plan, a progress bar on a terminal or lines elsewhere, and at the end a table of results.

    For programs the end is one line on stdout instead: the folder, or a JSON object. It is printed even if an
    expectation is not met, since everything was saved. `report` says whether the run ends with a report.
    """

    def __init__(self, *, quiet: bool, as_json: bool, report: bool = True) -> None:
        self.console = Screen(stderr=as_json, quiet=quiet)
        self.quiet = quiet
        self.as_json = as_json
        self.report = report
        self._live: ProgressLine | Status | None = None
        self._folder: Path | None = None
        self._stdout = sys.stdout

    def begin(self, folder: Path) -> None:
        self._folder = folder

    def say(self, line: str) -> None:
        self.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)

    def follow(self, what: str, steps: int, position: Position) -> None:
        if self.console.is_terminal:
            self._show(ProgressLine(self.console, what, steps, position))

    def pace(self, line: str) -> None:
        if not self.console.is_terminal:
            self.say(line)

    def wait(self, for_what: str) -> None:
        if self.console.is_terminal:
            self._show(Status(Text(printable(for_what)), console=self.console))
        else:
            self.say(for_what)

    def leave(self, line: str) -> None:
        self._show(None)
        click.echo(printable(line), err=True)  # also with --quiet

    def finished(self, record: Record) -> None:
        self._show(None)
        if record.results or record.failed:
            self.say("")
            self.console.print(results_table(record, self.console))
        for failure in record.failed:
            self.say(f"{failure.what} failed: {failure.error.message}")
        if record.status == "finished":
            self.say(f"\nfinished in {record.seconds:.1f} s")
            self.say(f"results  {record.folder}")
            if self.report:
                self.say(f"picture  {record.picture}")
                self.say(f"report   {record.report}")
            else:
                self.say(f"report   'ebmkit report {record.folder}' writes it")
        if self.as_json:
            click.echo(json.dumps(as_object(record, report=self.report)), file=self._stdout)
        elif self.quiet:
            click.echo(os.fsencode(record.folder), file=self._stdout)  # for programs: the exact bytes of the name

    def _show(self, live: ProgressLine | Status | None) -> None:
        if self._live:
            self._live.stop()
        self._live = live
        if live:
            live.start()

    def __enter__(self) -> Self:
        # What components print must not be mixed with the result that a program reads from stdout.
        if self.as_json or self.quiet:
            sys.stdout = sys.stderr
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout = self._stdout
        with suppress(OSError):  # failing to print may be the very error that ended the run
            self._show(None)  # restores the cursor of the terminal in any case
            if error is not None and self._folder:
                self.say(f"partial results: {self._folder}")
                if (report := self._folder / "report.html").is_file():
                    self.say(f"report   {report}")


class Screen(Console):
    """A console whose reader may disappear: `ebmkit run spec.yaml | head` continues to train silently."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def results_table(record: Record, console: Console) -> RenderableType:
    """Measured values, compared with the expected ones; their meanings in the last column if there is room for them,
    else below."""
    known = meanings(record.plan)
    whole = _table(record, known, ascii_only=console.options.ascii_only)
    wide = Measurement.get(console, console.options.update(max_width=sys.maxsize), whole).maximum
    if wide <= console.width:
        return whole
    names = [*record.results, *(name for failure in record.failed for name in failure.results)]
    legend = [Text(printable(f"{name}: {known[name]}"), "dim") for name in names if name in known]
    return Group(_table(record, {}, ascii_only=console.options.ascii_only), "", *legend)


def _table(record: Record, known: dict[str, str], *, ascii_only: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("metric", style="bold")
    table.add_column("value", justify="right")
    claimed = bool(record.plan.spec.expect)
    if claimed:
        table.add_column("expected")
    if known:
        table.add_column("meaning", style="dim")
    yes, no = ("ok", "NO") if ascii_only else ("✓", "✗")

    def add(name: str, value: Text | str, verdict: Text) -> None:
        meaning = [Text(printable(known.get(name, "")))] if known else []
        table.add_row(Text(printable(name)), value, *([verdict] if claimed else []), *meaning)

    for name, value in record.results.items():
        verdicts = Text("  ").join(
            Text(f"{yes} {claim_in_words(claim)}", "green")
            if is_met(claim, value)
            else Text(f"{no} {claim_in_words(claim)}", "red")
            for claim in record.plan.spec.expect
            if claim.metric == name
        )
        add(name, f"{value:.5g}", verdicts)
    for failure in record.failed:
        for name in failure.results or (failure.what,):
            claims = [claim_in_words(claim) for claim in record.plan.spec.expect if claim.metric == name]
            add(name, Text("failed", "red"), Text("  ".join(f"{no} {claim}" for claim in claims), "red"))
    return table


def as_object(record: Record, *, report: bool) -> dict[str, Any]:
    """The result of a run as a JSON object; picture and report are null if they were not wanted."""
    claims = [
        {
            "metric": claim.metric,
            "expected": claim_in_words(claim),
            "met": claim.metric in record.results and is_met(claim, record.results[claim.metric]),
        }
        for claim in record.plan.spec.expect
        if record.results or record.failed  # a run that stopped early has neither
    ]
    drawn = {"picture": str(record.picture), "report": str(record.report)}
    files = {"folder": str(record.folder), **(drawn if report else dict.fromkeys(drawn))}
    return {**files, **record.summary(), "expect": claims}
