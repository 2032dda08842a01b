"""The contract of a panel: one figure in the report of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Panel:
    """Offered by the hook `ebmkit_report_panels(view)`.

        Panel("acceptance", "Acceptance along the chain", draw, wide=True)

    `draw(axes: Axes, view: View)` draws with matplotlib, and returns the numbers that it drew as a sentence or two for
    the caption, or nothing. Title, place and style of the axes belong to the page. A square panel stands three in a row
    of the picture, a wide one two; a detail stands in the report only.
    """

    name: str
    title: str
    draw: Callable[..., str | None]
    wide: bool = False
    detail: bool = False
