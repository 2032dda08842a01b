"""The picture and the page of a run, written when it ends or later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebmkit.storage.atomic import make_folder, write_bytes, write_text
from ebmkit.storage.reading import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from ebmkit.engine.folder.record import Record
    from ebmkit.engine.run_view import RunView
    from ebmkit.report.drawn import Drawn


def draw_run(view: RunView, record: Record) -> None:
    """Write `plots/summary.png` and `report.html` into the folder of a run. A session is given this function."""
    status = "finished" if record.status == "running" else record.status  # which it is when the page is there
    drawn = write_picture(view, status, record.picture)
    record.save()  # so that the page knows how long it took
    write_page(view, record.folder, {**record.summary(), "status": status}, record.report, drawn)


def draw_samples(view: RunView, x: Tensor) -> bytes | None:
    """Samples of one step as a PNG, for trackers; None for states that have no picture. A session is given this too."""
    from ebmkit.report.panels.frames import draw_frame

    return draw_frame(view, x)


# These import what draws: a run without a report does not need it.


def write_picture(view: RunView, status: str, path: Path) -> list[Drawn]:
    """Write the summary picture of a run that ended with `status`; returns its panels, also for the page."""
    from ebmkit.report.drawn import draw_panels
    from ebmkit.report.summary import draw_summary

    drawn = draw_panels(view)
    make_folder(path.parent)
    write_bytes(path, draw_summary(view, status, drawn))
    return drawn


def write_page(
    view: RunView, folder: Path, summary: dict[str, Any], path: Path, drawn: list[Drawn] | None = None
) -> None:
    """Write the report of the run in `folder`; `summary` is the content of `run.json`."""
    from ebmkit.report.page import write_report

    write_text(path, write_report(view, summary, read_text(folder / "lock.yaml"), drawn))
