"""Colours that can be told apart on both pages, and SVG that follows them."""

from __future__ import annotations

import re

import matplotlib
import numpy as np
import pytest

from ebmkit.contracts.panel import Panel
from ebmkit.report.panels import plane
from ebmkit.report.provenance import commands, duration_of, moment, provenance
from ebmkit.report.style import ENERGY, THEME, night, number
from ebmkit.report.summary import draw_summary
from ebmkit.report.svg import draw_svg

from .views import view_by_hand


def rgb(color):
    return np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def luminance(color):
    linear = np.where(rgb(color) <= 0.04045, rgb(color) / 12.92, ((rgb(color) + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(a, b):
    """As WCAG 2 defines it."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("side", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("name", "least"), [("ink", 7), ("faint", 4.5), ("good", 4.5), ("bad", 4.5), ("data", 3), ("samples", 3)]
)
def test_contrast(name, least, side):
    assert contrast(THEME[name][side], THEME["paper"][side]) >= least


def test_the_filter_of_the_dark_page_turns_white_into_its_paper_and_keeps_what_is_likely_in_sight():
    matrix = np.array([float(word) for word in night().split()]).reshape(4, 5)

    def filtered(color):
        return (matrix @ [*rgb(color), 1, 1])[:3].clip(0, 1)

    assert np.abs(filtered("#ffffff") - rgb(THEME["paper"][1])).max() < 0.01
    assert filtered("#000000").min() > 0.95
    brightness = [filtered(color) @ [0.2126, 0.7152, 0.0722] for color in ENERGY]
    assert brightness == sorted(brightness, reverse=True)
    for name in ("data", "samples"):  # the hue stays
        before, after = rgb(THEME[name][0]), filtered(THEME[name][0])
        assert np.argsort(before).tolist() == np.argsort(after).tolist()
    assert matrix[3].tolist() == [0, 0, 0, 1, 0]


def test_colours_follow_the_page_letters_stay_letters_and_pixels_are_marked():
    def draw(axes, view):
        axes.plot([0, 1], [0, 1], color=THEME["data"][0])
        axes.plot([0, 1], [1, 0], color="#123456")
        axes.plot([0, 1], [1, 1], color="black", linestyle="--")
        axes.scatter(range(1000), range(1000))
        axes.text(0, 0, "a < b")
        axes.set_xlabel("across")
        return "1,000 points."

    svg, caption = draw_svg(Panel("mine", "Mine", draw), view_by_hand((2,)), "figure-1-")
    assert caption == "1,000 points."
    assert "var(--data)" in svg
    assert "#123456" in svg
    assert "stroke-dashoffset: 0; stroke: var(--ink)" in svg
    assert "#000000" not in svg
    assert not [light for light, _ in THEME.values() if light in svg]
    assert ">a &lt; b</text>" in svg
    assert ">across</text>" in svg
    assert svg.count('class="pixels"') == 1
    assert len(svg) < 60_000
    assert all(name.startswith("figure-1-") for name in re.findall(r'\bid="([^"]*)"', svg))
    assert "<style" not in svg  # it would reach the whole page
    assert re.match(r'<svg viewBox="0 0 [\d.]+ [\d.]+" version="1.1">', svg)


def test_a_figure_is_drawn_the_same_whatever_the_user_has_set():
    panel, view = plane.panels(view_by_hand((2,)))[-1], view_by_hand((2,))
    with matplotlib.rc_context({"text.usetex": True, "font.size": 30, "svg.fonttype": "path", "lines.linewidth": 9}):
        odd = draw_svg(panel, view, "a-"), draw_summary(view)
    assert odd == (draw_svg(panel, view, "a-"), draw_summary(view))


def test_pictures_are_embedded_pixel_by_pixel_and_have_no_dark_side():
    def draw(axes, view):
        axes.imshow(np.arange(12).reshape(3, 4), interpolation="none")

    svg, caption = draw_svg(Panel("mine", "Mine", draw), view_by_hand((2,)), "figure-1-")
    assert caption == ""
    assert svg.count('class="picture"') == 1
    assert 'class="pixels"' not in svg
    assert len(svg) < 20_000


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0114119, "0.01141"), (12345.6, "12,346"), (-3.0, "-3"), (1e-7, "1e-07"), (2.5e12, "2.5e+12")],
)
def test_numbers(value, words):
    assert number(value) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (12.06, "12.1 s"),
        (59.94, "59.9 s"),
        (185, "3 min 5 s"),
        (3599.9, "1 h 0 min"),
        (7380, "2 h 3 min"),
        ("x", "x"),
        (None, None),
    ],
)
def test_durations(seconds, words):
    assert duration_of(seconds) == words


def test_moments():
    assert moment("2026-11-16T06:33:16+02:00") == "2026-11-16 04:33:16 UTC"
    assert moment("yesterday") == "yesterday"
    assert moment(None) is None


def test_provenance_tells_plugins_data_and_commits_with_their_hashes():
    lock = """
experiment: abc
packages: {ebmkit-core: 0.1.0, torch: 2.13.0+cpu}
plugins:
  alpha: {distribution: ebmkit-alpha, version: '1.2', sha256: beef}
  mine: {distribution: null, version: unpackaged, sha256: f00d}
data: {points.npz: cafe}
device: cpu
threads: 1
git: {commit: '0123', changed: true}
"""
    known = provenance({"seed": 0, "seconds": 1.0}, lock)
    assert known["plugin alpha"] == "ebmkit-alpha 1.2 sha256 beef"
    assert known["plugin mine"] == "unpackaged sha256 f00d"
    assert known["data points.npz"] == "sha256 cafe"
    assert known["commit"] == "0123 with changes"
    assert (known["seed"], known["torch"], known["took"]) == ("0", "2.13.0+cpu", "1.0 s")
    assert "lock" not in known
    assert "cannot be read" in provenance({}, "!!python/object/apply:os.system ['true']")["lock"]


def test_commands_of_all_sittings_can_be_typed_again():
    sessions = [{"command": ["ebmkit", "run", "my spec.yaml"]}, {"command": ["ebmkit", "resume", "x"]}]
    assert commands({"sessions": sessions}) == ["ebmkit run 'my spec.yaml'", "ebmkit resume x"]
    assert commands({}) == []
