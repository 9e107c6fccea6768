"""Panels as marks: the same data on paper and on a page; gaps, rings, tiles, strips, legends."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from matplotlib.colors import to_hex

from calprobe.metrics import Estimate
from calprobe.show.html.panels import LONGEST, drawn
from calprobe.show.kinds.dumbbell_figure import DumbbellRow, Dumbbells
from calprobe.show.kinds.grouped_dots import GroupedDots
from calprobe.show.kinds.stacked_shares import Part, StackedShares
from calprobe.show.marks import (
    Histogram,
    Line,
    Panel,
    Points,
    Scale,
    Series,
    Texts,
    beside,
    grouped,
    heights,
    widths,
)
from calprobe.show.plots import Look, drawing
from calprobe.show.plots.frame import PairSizes
from calprobe.show.plots.paper import draw, draw_strips
from calprobe.show.plots.style import INK, style_at

DOTS = GroupedDots(
    "facts",
    "accuracy",
    "variant",
    ("plain", "surface_paraphrase"),
    ("first", "last"),
    ((Estimate(0.5, 0.4, 0.6), Estimate(0.25, 0.2, 0.3)), (None, Estimate(math.nan))),
    chance=0.25,
)


def titles(html: str) -> list[str]:
    return re.findall("<title>(.*?)</title>", html)


def test_a_group_without_a_value_has_no_point_and_others_keep_their_places() -> None:
    points = grouped(("a", "b", "c"), "x", (Estimate(0.5), None, Estimate(0.25, 0.2, 0.3)), -0.25)
    assert points.x == (-0.25, 1.75)
    assert points.tips == ("a, x: 0.5000", "c, x: 0.2500 (.200-.300)")
    assert points.ends[0] == (0.5, 0.25)
    assert [beside(place, 2, 0.5) for place in (0, 1)] == [-0.125, 0.125]


def test_heights_are_the_finite_coordinates_of_all_marks() -> None:
    points = Points((0.0, 1.0), (Estimate(0.5, 0.25, 0.75), Estimate(math.nan)), ("", ""))
    panel = Panel("", Scale(), Scale(), (Series("x", 0, (points,)),), (Line((), (2.0,)),))
    assert list(heights(panel)) == [2.0, 0.5, 0.25, 0.75]


def test_paper_and_page_show_the_same_points() -> None:
    (axes,) = draw([DOTS]).axes
    first, last = (line for line in axes.lines if line.get_marker() not in ("None", "none"))
    assert first.get_xydata().tolist() == [[-0.125, 0.5]]
    assert last.get_xydata()[0].tolist() == [0.125, 0.25]
    assert titles(drawn(DOTS.panel)) == [
        "plain, first: 0.5000 (.400-.600)",
        "plain, last: 0.2500 (.200-.300)",  # the undefined one has no mark
    ]
    assert axes.get_ylabel() == "Accuracy"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["plain", "surface\nparaphrase"]
    assert '"tick mid">surface<' in drawn(DOTS.panel)


def test_a_legend_names_the_series_of_all_panels_before_what_belongs_to_none() -> None:
    figure = draw([DOTS, replace(DOTS, series=("other", "last"), chance=None)])
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["first", "last", "other", "chance"]


def test_a_mark_with_a_name_of_its_own_is_ink_in_the_legend() -> None:
    points = Points((0.5,), (Estimate(0.5),), ("",), name="bin")
    panel = Panel("", Scale(), Scale(), (Series("x", 1, (points,)),))
    axes, _ = (figure := draw_strips([[panel]], Look(), PairSizes())).axes
    assert to_hex(axes.lines[0].get_color()) == style_at(1).color
    assert [to_hex(own.get_color()) for own in figure.legends[0].legend_handles] == [INK]


def test_a_strip_is_drawn_with_its_series_and_its_largest_count() -> None:
    across = Scale("confidence", "share")
    counts = Histogram((0.0, 0.5, 1.0), (3.0, 0.0), ("three", "none"))
    strip = Panel("", across, Scale("facts", "zero"), (Series("x", 2, (counts,)),))
    panel = Panel("", across, Scale("accuracy", "share"), (Series("x", 2, ()),), strip=strip, label="What it shows")
    html = drawn(panel)
    assert titles(html) == ["three"]  # an empty bin has no bar
    assert re.search(r'<g class="s2"><rect', html)
    assert 'aria-label="What it shows"' in html
    assert ">3</text>" in html
    _, below = draw_strips([[panel]], Look(), PairSizes()).axes
    assert below.get_ylabel() == "Facts"
    assert below.patches[0].get_data().values.tolist() == [3.0, 0.0]


def test_a_ring_leaves_the_dot_at_its_place_to_be_seen() -> None:
    own = Dumbbells("ways", "ranked", "answered", (DumbbellRow("capital", 0.5, 0.5, 12, True),), 0.25)
    with drawing():
        (axes,) = draw([own]).axes
    dots, rings = (line for line in axes.lines if line.get_marker() not in ("None", "none"))
    assert dots.get_zorder() > rings.get_zorder()
    assert rings.get_markerfacecolor() == "white"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["capital (12)"]
    assert axes.yaxis_inverted()
    assert titles(drawn(own.panel)) == ["capital: 0.500 ranked, of 12 facts", "capital: 0.500 answered, of 12 facts"]


@pytest.mark.parametrize("share", [0.6, 0.02])
def test_a_tile_has_its_text_where_it_has_room(share: float) -> None:
    name = "a-set-with-a-name-that-is-longer-than-the-page-has-room-for"
    own = StackedShares("stated", "set", (name,), ((Part("0.95", share, 0.95), Part("other", 1 - share, None)),))
    (axes,) = draw([own]).axes
    assert ("0.95" in [text.get_text() for text in axes.texts]) == (share > 0.1)
    html = drawn(own.panel)
    assert (">0.95</text>" in html) == (share > 0.1)
    assert titles(html) == [f"{name}, 0.95: {share:.1%}", f"{name}, other: {1 - share:.1%}"]
    (shown,) = re.findall('tick end">(.*?)</text>', html)
    assert len(shown) == LONGEST


def test_texts_are_escaped() -> None:
    texts = Texts((0.5, 0.5), (0.5, math.nan), ("<b>", "gone"))
    panel = Panel("<i>", Scale("<u>", "share"), Scale("", "share"), marks=(texts,), label='"><script>')
    html = drawn(panel)
    assert "&lt;b&gt;" in html
    assert not any(text in html for text in ("<b>", "<u>", "<script>", "gone"))


def test_each_axis_goes_by_its_own_coordinates() -> None:
    points = Points((100.0, 200.0), (Estimate(0.2), Estimate(0.4)), ("a", "b"))
    panel = Panel("tokens", Scale("tokens", "zero"), Scale("accuracy"), (Series("s", 0, (points,)),))
    assert list(widths(panel)) == [100.0, 200.0]
    (axes,) = draw([SimpleNamespace(panel=panel)], Look()).axes
    assert (axes.get_xlim()[0], axes.get_ylim()[0] > 0.1) == (0, True)
    assert "200" in str(drawn(panel))
