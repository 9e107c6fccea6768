"""Names of points on a page: beside their points, over nothing, and none where no place is left."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calprobe.metrics import Estimate
from calprobe.show.html.name_places import Box, NamePlaces
from calprobe.show.html.panels import drawn
from calprobe.show.marks import Panel, Points, Scale, Series, Texts

INSIDE = Box(52, 10, 428, 286)


def around(x: float, y: float) -> Box:
    return Box(x - 6, y - 6, x + 6, y + 6)


def test_a_name_stands_beside_its_point_on_the_side_with_more_room() -> None:
    places = NamePlaces(INSIDE, [around(100, 200), around(400, 200)], [])
    left, right = places.place(100, 200, "small"), places.place(400, 200, "large")
    assert left is not None
    assert right is not None
    assert (left.anchor, left.leader) == ("start", None)
    assert (right.anchor, right.leader) == ("end", None)


def test_a_name_covers_an_interval_only_where_nothing_else_is_free() -> None:
    point, wall = around(240, 150), Box(253, 10, 255, 286)
    aside = NamePlaces(INSIDE, [point], [wall]).place(240, 150, "a name")
    assert aside is not None
    assert aside.anchor == "end"
    across = NamePlaces(Box(230, 10, 428, 286), [point], [wall, Box(230, 10, 428, 286)]).place(240, 150, "a name")
    assert across is not None
    assert across.anchor == "start"


@given(
    st.lists(st.tuples(st.floats(52, 428), st.floats(10, 286), st.text("abc-", min_size=1, max_size=40)), max_size=40)
)
def test_no_name_covers_another_or_a_point(points: list[tuple[float, float, str]]) -> None:
    obstacles = [around(x, y) for x, y, _ in points]
    places = NamePlaces(INSIDE, obstacles, [])
    written = [name for point in points if (name := places.place(*point)) is not None]
    assert len(written) == len(places.names)
    assert not any(one.overlaps(other) for one, other in combinations(places.names, 2))
    assert not any(name.overlaps(point) for name in places.names for point in obstacles)


@pytest.mark.parametrize("runs", [1, 12, 60])
def test_runs_at_one_place_keep_their_points_and_lose_names(runs: int) -> None:
    values = (Estimate(0.25, 0.1, 0.4),) * runs
    names = tuple(f"model-{at}" for at in range(runs))
    series = Series("task", 0, (Points((0.5,) * runs, values, names), Texts((0.5,) * runs, (0.25,) * runs, names)))
    html = drawn(Panel("", Scale("accuracy", "share"), Scale("error", "zero"), (series,)))
    assert html.count('class="mark"') == runs
    shown = re.findall(r'class="tick (?:start|end|mid)">(model-\d+)<', html)
    assert shown[0] == "model-0"
    assert len(shown) == len(set(shown))
