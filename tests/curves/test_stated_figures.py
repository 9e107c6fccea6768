"""Figures of stated confidence: what stands in them, of one run and of several side by side."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calprobe.curves.calibration_curve import Calibration
from calprobe.metrics import Estimate
from calprobe.show.kinds.grouped_dots import GroupedDots
from calprobe.show.kinds.matrix_figure import Correlations
from calprobe.show.plots import Look
from calprobe.show.plots.paper import draw
from calprobe.studies.stated.figures import StatedPictures, side_by_side

NAN = float("nan")
TWO = Correlations("", ("p", "q"), ((1.0, -0.25), (-0.25, NAN)))
MEANS = GroupedDots(
    "",
    "mean confidence",
    "answer",
    ("original", "target"),
    ("all", "wrong"),
    ((Estimate(0.7, 0.6, 0.8), None), (Estimate(0.9), None)),
    of="answers",
)


def test_a_cell_has_its_number_and_its_side_of_0() -> None:
    (axes,) = draw([TWO]).axes
    assert [text.get_text() for text in axes.texts] == ["1.0", "−.25", "−.25", "–"]
    (image,) = axes.images
    assert image.norm.vmin == -image.norm.vmax
    assert [label.get_text() for label in axes.get_xticklabels()] == ["p", "q"]


def test_a_mean_that_is_not_there_has_no_mark() -> None:
    figure = draw([MEANS])
    (axes,) = figure.axes
    assert [line.get_ydata().tolist() for line in axes.lines] == [[0.7, 0.9], []]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["all answers", "wrong answers"]


def test_an_axis_is_named_where_it_is_another_than_the_one_before() -> None:
    figure = draw([MEANS, replace(MEANS, value="ECE 15"), replace(MEANS, value="ECE 15")])
    assert [axes.get_ylabel() for axes in figure.axes[:3]] == ["Mean confidence", "ECE 15", "ECE 15"]
    assert [axes.get_ylabel() for axes in draw([MEANS, MEANS]).axes] == ["Mean confidence", ""]


def test_several_overviews_become_one_by_run_and_one_of_means_without_intervals() -> None:
    def overview(all_prompts: float, of_scale: Estimate | None) -> StatedPictures:
        rows = ((of_scale, None), (Estimate(all_prompts, 0.1, 0.9), None))
        return StatedPictures(
            Calibration(()), (), (), (), (replace(MEANS, groups=("scale", "All"), values=rows, of=""),)
        )

    both = side_by_side([("a", overview(0.2, Estimate(0.5))), ("b", overview(0.4, None))])
    assert both is not None
    by_run, means = both.overviews
    assert (by_run.groups, [row[0] for row in by_run.values]) == (
        ("a", "b"),
        [Estimate(v, 0.1, 0.9) for v in (0.2, 0.4)],
    )
    assert means.groups == ("scale", "All")
    assert means.values[0] == (None, None)  # b has none
    (mean, _) = means.values[1]
    assert mean is not None
    assert (mean.value, mean == Estimate(mean.value)) == (pytest.approx(0.3), True)


def test_names_that_would_cover_each_other_are_slanted() -> None:
    names = tuple(f"a-name-wider-than-it-{at}" for at in range(3 * len(MEANS.groups)))
    wide = replace(MEANS, groups=names, values=3 * MEANS.values)
    short, long = (draw([own], Look(width=3.3)) for own in (MEANS, wide))
    assert {label.get_rotation() for label in short.axes[0].get_xticklabels()} == {0.0}
    assert {label.get_rotation() for label in long.axes[0].get_xticklabels()} == {35.0}
    assert long.get_figheight() > short.get_figheight()


def test_runs_stand_side_by_side_by_their_names() -> None:
    own = StatedPictures(Calibration(()), (TWO,), (MEANS,))
    assert side_by_side([("a", own)]) is None
    both = side_by_side([("a", own), ("b", own)])
    assert both is not None
    assert [kind for kind, _ in both.drawn()] == ["correlation", "conditions"]
    assert [found.title for found in (*both.correlations, *both.conditions)] == ["a", "b", "a", "b"]
    left, right = draw(both.correlations).axes
    assert left.get_position().y0 == pytest.approx(right.get_position().y0)
    assert left.get_position().x1 < right.get_position().x0
