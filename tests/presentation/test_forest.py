"""The figure of a comparison: the differences of its table, on the side of the better run."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from calprobe.metrics import Difference, Estimate, standard_metrics
from calprobe.presentation.forest import FAVOURS_A, FAVOURS_B, FAVOURS_NONE, forest
from calprobe.show.html import svg
from calprobe.show.tables import Column, Row, Table

CELLS = {
    "accuracy": Difference(0.1, 0.05, 0.15, 0.01),
    "ace": Difference(0.2, -0.1, 0.5, 0.3),
    "ece": Difference(0.2, 0.1, 0.3, 0.04),
    "brier": Difference(-0.05, -0.06, -0.04, 0.01),
    "nll": Difference(2.0, 1.0, 3.0, 0.01),
    "auroc": Difference(0.0, 0.0, 0.0, 1.0),
    "aurc": Difference(-0.5, p_value=0.01),  # no resample moves it
    "prr": Difference(0.1, p_value=0.6),
}


def table(cells: dict[str, Difference] = CELLS) -> Table:
    rows = tuple(
        Row(
            f"margin {name}",
            (Estimate(0.5), cell),
            "all relations",
            keys={"metric": name},
            significant=name in ("brier", "aurc"),
        )
        for name, cell in cells.items()
    )
    return Table("Differences.", "differences", "number", (Column("A"), Column("A - B")), rows)


def marks(figure: str) -> dict[str, tuple[float, str]]:
    """The place across and the class of each difference, by name."""
    found = {}
    for group in ElementTree.fromstring(figure).iter("g"):
        for mark in group:
            title = mark.find("title")
            if title is not None and title.text:
                place = float(mark.get("cx") or re.findall(r"M([\d.]+)", mark.get("d", ""))[0])
                found[title.text.partition(":")[0]] = (place, group.get("class", ""))
    return found


def test_every_difference_is_drawn_but_those_of_another_scale() -> None:
    view = forest(table(), standard_metrics())
    assert view is not None
    found = marks(view.svg)
    assert set(found) == {f"margin {name}" for name in CELLS if name != "nll"}
    zero = float(re.findall(r'M([\d.]+) [\d.]+L[\d.]+ [\d.]+" class="line zero"', view.svg)[0])
    for name, cell in CELLS.items():
        if name != "nll":
            assert (found[f"margin {name}"][0] > zero) == (cell.value > 0)
    assert "in the table alone: margin nll." in view.caption


def test_colours_say_which_run_is_better_and_filled_marks_what_is_significant() -> None:
    view = forest(table(), standard_metrics())
    assert view is not None
    classes = {name: own for name, (_, own) in marks(view.svg).items()}
    assert classes == {
        "margin accuracy": f"s{FAVOURS_A}",  # larger is better
        "margin ace": f"s{FAVOURS_NONE}",  # its interval holds 0
        "margin ece": f"s{FAVOURS_B}",  # smaller is better
        "margin brier": f"s{FAVOURS_A} sure",
        "margin auroc": f"s{FAVOURS_NONE}",
        "margin aurc": f"s{FAVOURS_A} sure",
        "margin prr": f"s{FAVOURS_NONE}",
    }


@pytest.mark.parametrize("cells", [{}, {"nll": CELLS["nll"]}])
def test_without_differences_there_is_no_figure(cells: dict[str, Difference]) -> None:
    assert forest(table(cells), standard_metrics()) is None


def test_names_above_a_figure_do_not_overlap() -> None:
    frame = svg.Frame(svg.Axis("x"), svg.Axis("y"))
    points = [(0.5, 0.1), (0.5, 0.2), (0.505, 0.3), (1.0, 0.4), (0.99, 0.4), (float("nan"), 0.1)]
    drawn = svg.flags(frame, points, [str(number) for number in range(6)])
    places = sorted(float(found) for found in re.findall(r'<text x="([\d.]+)"', drawn))
    assert len(places) == 5
    assert min(b - a for a, b in pairwise(places)) >= svg.FLAG - 0.11
    assert max(places) <= frame.width - svg.RIGHT


def test_no_side_is_better_in_a_row_that_is_not_ranked() -> None:
    rows = tuple(replace(row, ranked=row.label != "margin ece") for row in table().rows)
    view = forest(replace(table(), rows=rows), standard_metrics())
    assert view is not None
    classes = {name: own for name, (_, own) in marks(view.svg).items()}
    assert classes["margin ece"] == f"s{FAVOURS_NONE}"
    assert classes["margin accuracy"] == f"s{FAVOURS_A}"
