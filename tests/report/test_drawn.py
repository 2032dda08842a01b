"""The panels of a run are drawn once, for the page and for the picture."""

from __future__ import annotations

import numpy as np
import pytest

from ebmkit.contracts.panel import Panel
from ebmkit.report import drawing, drawn
from ebmkit.report.drawn import draw_panels
from ebmkit.report.layout import DPI, GAP, HEADER, WIDTH, arranged
from ebmkit.report.tile import tile

from .views import view_by_hand


def painted(monkeypatch, draw, **options):
    """The one panel of a run, drawn."""
    monkeypatch.setattr(drawn, "offered_panels", lambda view: [Panel("mine", "Mine", draw, **options)])
    (found,) = draw_panels(view_by_hand((2,)))
    return found


def test_every_panel_is_drawn_once_for_page_and_picture(monkeypatch, tmp_path):
    calls = []

    def counted(panel):
        def draw(axes, view):
            calls.append(panel.name)
            return panel.draw(axes, view)

        return Panel(panel.name, panel.title, draw, panel.wide, panel.detail)

    real = drawn.offered_panels
    monkeypatch.setattr(drawn, "offered_panels", lambda view: [counted(panel) for panel in real(view)])
    (tmp_path / "lock.yaml").write_text("")
    view = view_by_hand((2,), series={"loss": [(1, 2.0), (2, 1.0)]}, step=2)
    found = drawing.write_picture(view, "finished", tmp_path / "plots/summary.png")
    drawing.write_page(view, tmp_path, {}, tmp_path / "report.html", found)
    assert sorted(calls) == sorted(panel.name for panel in real(view))
    assert len(calls) == len(set(calls)) >= 5
    page = (tmp_path / "report.html").read_text()
    assert page.count("<figure") == len(calls)
    assert (tmp_path / "plots/summary.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_alone_needs_no_details_and_no_svg(monkeypatch):
    seen = []
    monkeypatch.setattr(
        drawn,
        "offered_panels",
        lambda view: [
            Panel("main", "Main", lambda axes, view: seen.append("main")),
            Panel("detail", "Detail", lambda axes, view: seen.append("detail"), detail=True),
        ],
    )
    (found,) = draw_panels(view_by_hand((2,)), page=False)
    assert seen == ["main"]
    assert found.svg is None
    assert found.tile is not None


def filled(pixels, color):
    """The box of pixels that have this colour: left, right, lower and upper."""
    rows, columns = np.nonzero((np.abs(pixels[..., :3].astype(int) - color) < 30).all(-1) & (pixels[..., 3] > 200))
    return columns.min(), columns.max() + 1, len(pixels) - rows.max() - 1, len(pixels) - rows.min()


@pytest.mark.parametrize("colorbar", [False, True])
def test_the_axes_of_a_panel_fill_their_place_together(monkeypatch, colorbar):
    """As a plugin may add axes of its own, such as a colour bar."""

    def draw(axes, view):
        image = axes.imshow([[0.0, 1.0]], cmap="autumn", aspect="auto")  # from red to yellow
        if colorbar:
            axes.figure.colorbar(image, ax=axes)

    found = painted(monkeypatch, draw, wide=True)
    (place,) = arranged([Panel("mine", "Mine", draw, wide=True)])[0].values()
    left, right, low, high = filled(found.tile.pixels, (255, 0, 0))
    assert abs(left - DPI * found.tile.left) < 4
    assert abs(low - DPI * GAP) < 4
    assert abs(high - DPI * (GAP + place.height)) < 4
    yellow = filled(found.tile.pixels, (255, 255, 0))
    end = DPI * (found.tile.left + place.width)
    assert (0.85 if colorbar else 0.99) * end < yellow[1] < end + 4  # a colour bar is narrower than its axes
    assert right <= yellow[1]


def test_what_fails_only_with_its_title_is_whole_on_the_page(monkeypatch):
    monkeypatch.setattr(
        drawn, "offered_panels", lambda view: [Panel("mine", r"$\nonsense$", lambda axes, view: "Seen.")]
    )
    (found,) = draw_panels(view_by_hand((2,)))
    assert (found.caption, found.error) == ("Seen.", None)
    assert found.svg is not None
    assert found.tile is not None


def test_places_do_not_overlap_and_fill_the_width():
    panels = [Panel(str(n), "", tile, wide=n > 3) for n in range(8)]
    places, height = arranged(panels)
    assert sorted(places) == list(range(8))
    boxes = [(p.left, p.left + p.width, p.top, p.top + p.height) for p in places.values()]
    for one in boxes:
        assert one[0] >= 0
        assert one[1] <= WIDTH
        assert HEADER <= one[2] < one[3] <= height
        for other in boxes:
            assert one is other or one[1] < other[0] or other[1] < one[0] or one[3] < other[2] or other[3] < one[2]
