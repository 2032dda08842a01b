"""The pictures and the page of a run, written when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ebmkit.report.page import write_report
from ebmkit.report.summary import draw_summary
from ebmkit.storage.atomic import storing, write_bytes, write_text

if TYPE_CHECKING:
    from ebmkit.engine.folder.record import Record
    from ebmkit.engine.run_view import RunView


def draw_run(view: RunView, record: Record) -> None:
    """Write `plots/summary.png` and `report.html` into the folder of a run. A session is given this function."""
    write_bytes(record.file("plots/summary.png"), draw_summary(view))
    with storing(record.folder / "lock.yaml"):
        lock_text = (record.folder / "lock.yaml").read_text(encoding="utf-8")
    record.save()  # so that the page knows how long it took
    summary = {**record.summary(), "status": "finished"}  # which it is when the page is there
    write_text(record.report, write_report(view, summary, lock_text))
