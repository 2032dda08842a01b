"""The contract of a panel: one drawing on the page of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ebmkit.engine.view import View


@dataclass(frozen=True)
class Panel:
    """Offered by the hook `ebmkit_report_panels(view)`.

        Panel("acceptance", "Acceptance along the chain", draw, wide=True)

    `draw(axes, view)` draws with matplotlib; title, place and style of the axes belong to the page. A square panel
    stands three in a row, a wide one two.
    """

    name: str
    title: str
    draw: Callable[[Axes, View], None]
    wide: bool = False
