"""The contract of a panel: one figure in the report of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Panel:
    """A figure returned by the hook `ebmkit_report_panels(view)`.

        Panel("acceptance", "Acceptance along the chain", draw, wide=True)

    `draw(axes: Axes, view: View)` draws with matplotlib, and returns the numbers shown as a sentence or two for the
    caption, or nothing. The page sets title, position and style of the axes. The picture shows three square panels or
    two wide ones per row; a detail is shown in the report only.
    """

    name: str
    title: str
    draw: Callable[..., str | None]
    wide: bool = False
    detail: bool = False
