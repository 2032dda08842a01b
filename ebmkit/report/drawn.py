"""The panels of a run, each drawn once for the page and for the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ebmkit.contracts.panel import Panel
from ebmkit.engine.shared_tensors import watched
from ebmkit.errors.running import ComponentFailed
from ebmkit.report.layout import Place, arranged
from ebmkit.report.panels.offered import offered_panels
from ebmkit.report.style import plain_matplotlib
from ebmkit.report.svg import draw_figure, svg_of
from ebmkit.report.tile import Tile, error_tile, tile

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from matplotlib.figure import Figure

    from ebmkit.engine.run_view import RunView


class Drawn(NamedTuple):
    """A panel as SVG with a caption for the page, and as pixels for the picture; or the error of drawing it."""

    panel: Panel
    caption: str = ""
    svg: Element | None = None
    tile: Tile | None = None
    error: BaseException | None = None


def draw_panels(view: RunView, *, page: bool = True, picture: bool = True) -> list[Drawn]:
    """All panels for the page, or the main ones if there is only a picture. One that fails does not stop the rest."""
    panels = [panel for panel in offered_panels(view) if page or not panel.detail]
    main = [panel for panel in panels if not panel.detail]
    places = arranged(main)[0] if picture else {}
    with plain_matplotlib():
        return [_draw(panel, view, page, None if panel.detail else places.get(main.index(panel))) for panel in panels]


def _draw(panel: Panel, view: RunView, page: bool, place: Place | None) -> Drawn:
    try:
        figure, axes, caption = _figure(panel, view)
        svg = svg_of(figure) if page else None
    except (Exception, SystemExit) as error:
        return Drawn(panel, tile=error_tile(panel, error, place) if place else None, error=error)
    try:
        pixels = tile(figure, axes, panel.title, place) if place else None
    except (Exception, SystemExit) as error:  # some, such as in a formula of the title, appear only now
        pixels = error_tile(panel, error, place) if place else None
    return Drawn(panel, caption, svg, pixels)


def _figure(panel: Panel, view: RunView) -> tuple[Figure, Any, str]:
    """The figure of a panel, its axes, and its caption; an error if it modified what the next panels use."""
    with watched(view) as shared:
        try:
            return draw_figure(panel, view)
        finally:
            if modified := shared.modified():
                raise ComponentFailed(f"it modified {modified} in place: work on a copy")
