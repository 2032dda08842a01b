"""A panel as SVG for a page with several figures: in the page's colours, and with unique ids."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from ebmkit.contracts.panel import Panel
from ebmkit.errors.describe import type_name
from ebmkit.report.style import THEME, plain_matplotlib, tidy

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

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


def draw_svg(panel: Panel, view: RunView, prefix: str) -> tuple[str, str]:
    """The markup of a figure whose ids begin with `prefix`, and its caption. The same view gives the same bytes."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with plain_matplotlib():
        layout = ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02)
        figure = Figure(figsize=(WIDTH, WIDE if panel.wide else SQUARE), layout=layout)
        canvas = FigureCanvasSVG(figure)  # no pyplot: its figures are global
        axes = figure.add_subplot(facecolor="none")
        caption = panel.draw(axes, view)
        if not isinstance(caption, str | None):
            raise TypeError(f"it returned an object of type {type_name(caption)} as its caption")
        tidy(axes)
        _prepare(figure)
        written = io.BytesIO()
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        canvas.print_figure(written, format="svg", dpi=DPI, facecolor="none", edgecolor="none", metadata=nothing)
    root = ElementTree.fromstring(written.getvalue())
    return _adopted(root, prefix), caption or ""


def _prepare(figure: Any) -> None:
    """Rasterise artists with too many paths, and mark images, whose colours do not change on a dark page."""
    import numpy as np
    from matplotlib.collections import Collection, PathCollection
    from matplotlib.contour import ContourSet
    from matplotlib.image import AxesImage

    for artist in figure.findobj(Collection):
        pieces = np.size(artist.get_offsets()) // 2 if isinstance(artist, PathCollection) else len(artist.get_paths())
        if pieces > PIECES or (isinstance(artist, ContourSet) and artist.filled):
            artist.set_rasterized(True)
    for count, artist in enumerate(figure.findobj(AxesImage)):
        artist.set_gid(f"{_PICTURE}{count}")


def _adopted(root: Element, prefix: str) -> str:
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
