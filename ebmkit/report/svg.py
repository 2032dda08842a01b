"""A panel as SVG for a page with several figures: in the page's colours, and with unique ids."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from ebmkit.contracts.panel import Panel
from ebmkit.errors.describe import type_name
from ebmkit.report.style import THEME, plain_matplotlib, tidy

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from matplotlib.figure import Figure

    from ebmkit.engine.run_view import RunView

#: Inches. Small enough that text is legible when a phone shrinks the figure to its width.
WIDTH, SQUARE, WIDE = 4.1, 3.95, 2.5
#: Resolution of the parts that are rasterised.
DPI = 200
#: Number of paths above which a raster image is smaller.
PIECES = 300

_COLORS = {light: f"var(--{name})" for name, (light, _) in THEME.items()} | {"#000000": "var(--ink)"}
_COLOR = re.compile("#[0-9a-f]{6}")
_REFERENCE = re.compile(r"url\(#")
_NAMESPACE = re.compile(r"\{[^}]*\}")
_PICTURE = "picture"


def draw_figure(panel: Panel, view: RunView) -> tuple[Figure, Any, str]:
    """The figure of a panel in the size that it has on the page, its axes, and its caption."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02)
    size = (WIDTH, WIDE if panel.wide else SQUARE)
    figure = Figure(figsize=size, layout=layout, dpi=DPI, facecolor="none", edgecolor="none")
    axes = figure.add_subplot(facecolor="none")
    caption = panel.draw(axes, view)
    if not isinstance(caption, str | None):
        raise TypeError(f"it returned an object of type {type_name(caption)} as its caption")
    tidy(axes)
    return figure, axes, caption or ""


def svg_of(figure: Figure) -> Element:
    """A figure as a tree of SVG. The same figure gives the same tree."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    _prepare(figure)
    written = io.BytesIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    # No pyplot, whose figures are global; and not `print_figure`, which draws twice for the layout.
    canvas: Any = FigureCanvasSVG(figure)
    canvas.print_svg(written, metadata=nothing)
    return ElementTree.fromstring(written.getvalue())


def draw_svg(panel: Panel, view: RunView, prefix: str) -> tuple[str, str]:
    """The markup of a figure whose ids begin with `prefix`, and its caption. The same view gives the same bytes."""
    with plain_matplotlib():
        figure, _, caption = draw_figure(panel, view)
        return adopted(svg_of(figure), prefix), caption


def _prepare(figure: Any) -> None:
    """Rasterise artists with too many paths, and mark images, whose colours do not change on a dark page."""
    import numpy as np
    from matplotlib.collections import PathCollection
    from matplotlib.contour import ContourSet

    everywhere = list(_axes_of(figure.axes))
    for artist in [artist for axes in everywhere for artist in axes.collections]:
        pieces = np.size(artist.get_offsets()) // 2 if isinstance(artist, PathCollection) else len(artist.get_paths())
        if pieces > PIECES or (isinstance(artist, ContourSet) and artist.filled):
            artist.set_rasterized(True)
    for count, artist in enumerate(artist for axes in everywhere for artist in axes.images):
        artist.set_gid(f"{_PICTURE}{count}")


def _axes_of(several: Iterable[Any]) -> Iterator[Any]:
    """The axes and those inside them. `findobj` would also make all ticks, which takes longer than to draw them."""
    for axes in several:
        yield axes
        yield from _axes_of(axes.child_axes)


def adopted(root: Element, prefix: str) -> str:
    """The tree as part of a page: no namespaces, no styles that would affect others, named colours, unique ids."""
    for parent in list(root.iter()):
        for child in list(parent):
            if _NAMESPACE.sub("", child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _NAMESPACE.sub("", element.tag)
        attributes = {_NAMESPACE.sub("", name): value for name, value in element.attrib.items()}
        element.attrib.clear()
        for name, value in attributes.items():
            element.set(name, _own(name, value, prefix))
        if element.tag == "image":
            element.set("class", "picture" if attributes["id"].startswith(_PICTURE) else "pixels")
    for size in ("width", "height"):  # set by the page; the view box keeps the aspect ratio
        del root.attrib[size]
    return ElementTree.tostring(root, encoding="unicode")


def _own(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return prefix + value
    if name == "href":
        return f"#{prefix}{value[1:]}" if value.startswith("#") else value.replace(" ", "")
    value = _REFERENCE.sub(f"url(#{prefix}", value)
    return _COLOR.sub(lambda color: _COLORS.get(color[0], color[0]), value)
