"""The forest plot of a comparison: its rows, its marks, and labels that stay apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from compared_runs import run_of
from proofs import few_of

from calprobe.analysis import CompareOptions, Comparison, ReportOptions, compare
from calprobe.curves.differences import Forest, ForestRow, draw_differences, forest
from calprobe.metrics import Resampling
from calprobe.show.plots import COLUMN_INCHES, PAGE_INCHES, Look, drawing, save

SCORES = ReportOptions(ace_bins=4, resampling=Resampling(6))


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("runs")
    runs = {name: run_of(folder / str(seed), seed) for seed, name in enumerate(("a" * 45, "gpt2", "b" * 60))}
    return compare(runs, CompareOptions(pairs="all", by_domain=True, margin=0.1, scores=SCORES))


def test_every_difference_has_its_place(comparison: Comparison) -> None:
    found = forest(comparison)
    assert len(found.rows) == 3 * 3
    assert list(found.panels.values()) == ["mean accuracy", "Brier", "ACE"]
    assert (found.estimators, found.margin) == (("base", "margin", "average_min"), 0.1)
    (first, *_), pair = found.rows, comparison.pairs[0]
    assert first.contrasts == pair.everything.contrasts
    assert "\n− gpt2" in first.label
    with drawing():
        figure = draw_differences(found)
    marks = [[line for line in axes.lines if line.get_marker() != "None"] for axes in figure.axes]
    assert [len(own) for own in marks] == [9, 27, 27]
    values = {float(line.get_xdata()[0]) for own in marks for line in own}
    assert values == {c.difference.value for pair in comparison.pairs for s in pair.scopes for c in s.contrasts}


def test_a_mark_is_filled_where_the_corrected_p_is_small(comparison: Comparison) -> None:
    contrasts = comparison.pairs[0].everything.contrasts
    some = tuple(replace(contrast, p_holm=0.01 if at == 1 else 0.9) for at, contrast in enumerate(contrasts))
    found = replace(forest(comparison), rows=(ForestRow("a − b", some),))
    with drawing():
        figure = draw_differences(found)
    marks = [line for axes in figure.axes for line in axes.lines if line.get_marker() != "None"]
    assert [line.get_markerfacecolor() == "white" for line in marks] == [True, False] + [True] * 5


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", [COLUMN_INCHES, PAGE_INCHES])
@pytest.mark.parametrize("number", few_of([1, 9, 40], lambda number: number == 9))
def test_labels_stay_apart_and_inside(comparison: Comparison, width: float, number: int) -> None:
    found = forest(comparison)
    rows = tuple(found.rows[at % 9] for at in range(number))
    with drawing():
        figure = draw_differences(replace(found, rows=rows), Look(width))
        axes = figure.axes[0]
        boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert all(box.x0 >= 0 and box.y0 >= 0 for box in boxes)
    assert all(upper.y0 >= lower.y1 - 1 for upper, lower in pairwise(boxes))
    assert axes.get_window_extent().width > 0.25 * figure.dpi


def test_within_one_run_and_without_anything(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = run_of(tmp_path_factory.mktemp("runs") / "one")
    found = forest(compare(path, CompareOptions(scores=SCORES)))
    assert [row.label for row in found.rows] == ["average_min − margin", "average_min − base", "margin − base"]
    assert (list(found.panels.values()), found.estimators) == (["accuracy", "Brier", "ACE"], ())
    assert found.title == "one"
    with drawing():
        save(draw_differences(found), tmp_path / "one.svg")
        empty = Forest((), {}, {}, (), None)
        save(draw_differences(empty), tmp_path / "none.svg")
    assert "average_min − margin" in (tmp_path / "one.svg").read_text("utf-8")
