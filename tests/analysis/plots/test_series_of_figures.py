"""What is drawn is what the results say: data read back from the lines; gaps; styles that grey print tells apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from curve_samples import MANY, PAPERS, accuracy_ace, calibration, exposure, markers, options, rejection
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import StepPatch

from calprobe.analysis.curves import plot
from calprobe.analysis.curves.accuracy_rejection import AccuracyRejection
from calprobe.analysis.palette import MAX_SERIES
from calprobe.analysis.plots.groups import group_lines
from calprobe.analysis.plots.style import shortened, style_at
from calprobe.arrays import Floats


def has_line(axes: Axes, x: Floats, y: Floats) -> bool:
    """Whether some line of the panel runs through just these points, gaps and all."""
    wanted = np.column_stack([np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)])
    return any(
        own.get_xydata().shape == wanted.shape and np.array_equal(own.get_xydata(), wanted, equal_nan=True)
        for own in axes.lines
    )


def bars(axes: Axes) -> list[list[list[float]]]:
    """The upright bars of intervals, [bars, 2 ends, 2 coordinates]."""
    collections = [own for own in axes.collections if isinstance(own, LineCollection)]
    return [segment.tolist() for own in collections for segment in own.get_segments()]


def test_a_run_is_drawn_by_threshold_and_by_rank_with_its_votes() -> None:
    result = rejection()
    by_threshold, by_rank = plot(result).axes
    for line in result.lines:
        curve = line.by_threshold.curve
        assert np.isnan(curve.accuracy[-1]) or curve.kept[-1]  # a gap, where nothing reaches a confidence of 1
        assert has_line(by_threshold, curve.rejected, curve.accuracy)
        assert has_line(by_rank, line.by_rank.rejected, line.by_rank.accuracy)
    votes = result.votes[0].votes
    assert has_line(by_threshold, votes.curve.rejected, votes.curve.accuracy)
    ends = [[[x, low], [x, high]] for x, low, high in zip(votes.curve.rejected, votes.low, votes.high, strict=True)]
    assert bars(by_threshold) == ends
    assert {f"k={k}" for k in (2, 3, 4, 5)} <= {text.get_text() for text in by_threshold.texts}


def test_bands_are_drawn_where_they_do_not_cover_each_other() -> None:
    result = rejection(estimators=PAPERS[:2])
    bands = plot(result).axes[1].collections
    for band, line in zip(bands, result.lines, strict=True):
        (outline,) = (path.vertices for path in band.get_paths())
        assert {(x, y) for x, y in outline.tolist()} >= set(zip(line.band.x, line.band.low, strict=True))
    assert len(plot(rejection()).axes[1].collections) == 0


def test_several_runs_are_compared_in_a_panel_for_each_estimator() -> None:
    result = rejection(MANY[:3], PAPERS[:2])
    base, margin, votes = plot(result).axes
    assert [axes.get_title(loc="left") for axes in (base, margin, votes)] == ["base", "margin", "k paraphrases agree"]
    for line in result.lines:
        axes = base if line.estimator == "base" else margin
        assert has_line(axes, line.by_rank.rejected, line.by_rank.accuracy)
        assert has_line(axes, line.by_threshold.curve.rejected, line.by_threshold.curve.accuracy)
    assert all(has_line(votes, own.votes.curve.rejected, own.votes.curve.accuracy) for own in result.votes)


def test_without_resamples_there_are_lines_and_no_intervals() -> None:
    result = rejection(estimators=PAPERS[:1])
    line, votes = result.lines[0], result.votes[0]
    gone = np.full(len(line.band.x), np.nan)
    line = replace(line, band=replace(line.band, low=gone, high=gone))
    votes = replace(votes, votes=replace(votes.votes, low=gone[:4], high=gone[:4]))
    by_threshold, by_rank = plot(AccuracyRejection((line,), (votes,))).axes
    assert not any(bars(by_threshold))
    assert has_line(by_threshold, votes.votes.curve.rejected, votes.votes.curve.accuracy)
    assert has_line(by_rank, line.by_rank.rejected, line.by_rank.accuracy)
    assert "bands: 95 % intervals" not in {text.get_text() for text in by_rank.texts}


def test_more_series_than_styles_go_on_in_another_panel() -> None:
    groups = group_lines(rejection(MANY, ("base",)).lines)
    assert [(group.title, len(group.series)) for group in groups] == [("base (1 of 2)", 8), ("base (2 of 2)", 2)]
    assert len({series.style for group in groups for series in group.series}) == len(MANY)


def test_calibration_is_drawn_on_the_bins_of_ace_over_the_counts_of_ece() -> None:
    result = calibration()
    panels = plot(result).axes
    for line, above, below in zip(result.lines, panels[:2], panels[2:], strict=True):
        assert has_line(above, [0, 1], [0, 1])
        assert has_line(above, line.ace.bins.confidence, line.ace.bins.accuracy)
        assert has_line(above, line.smooth.confidence, line.smooth.accuracy)  # with a gap near 1
        assert np.isnan(line.smooth.accuracy[-1])
        x = line.ace.bins.confidence
        ends = [[[at, low], [at, high]] for at, low, high in zip(x, line.ace.low, line.ace.high, strict=True)]
        assert bars(above) == ends
        (histogram,) = (own for own in below.patches if isinstance(own, StepPatch))
        assert np.array_equal(histogram.get_data().values, line.ece.bins.count)
        assert np.array_equal(histogram.get_data().edges, line.ece.bins.edges)
        assert below.get_xlim() == above.get_xlim()


def test_options_are_drawn_with_their_single_draws() -> None:
    result = options()
    for axes, name in zip(plot(result).axes, ("accuracy", "mean_confidence", "ace"), strict=True):
        for line in result.lines:
            for numbers in (line.means, *line.draws):
                assert has_line(axes, line.options, getattr(numbers, name))


def test_accuracy_and_ace_of_every_model_bear_its_name() -> None:
    result = accuracy_ace(6, ("base", "margin"))
    for axes, estimator in zip(plot(result).axes, ("base", "margin"), strict=True):
        own = [point for point in result.points if point.estimator == estimator]
        assert has_line(axes, [point.accuracy.value for point in own], [point.ace.value for point in own])
        names = {text.get_text() for text in axes.texts}
        assert {point.model.removeprefix("org/") for point in own} <= names
        assert "Spearman's ρ −0.45 (−0.81 to 0.12), 6 runs" in names


def test_two_runs_of_one_model_are_called_by_their_folders() -> None:
    result = accuracy_ace(2, ("base",))
    same = replace(result, points=tuple(replace(point, model="gpt2") for point in result.points))
    assert {point.run for point in result.points} <= {text.get_text() for text in plot(same).axes[0].texts}


def test_markers_show_the_percentage_that_they_name() -> None:
    result = markers()
    confidence, shift, accuracy, ace = plot(result).axes
    x = np.array([0, 1.5, 2.5, 4, 5, 6, 7, 8])  # plain | verbal | percentages
    assert has_line(confidence, x, [point.mean_confidence.value for point in result.points])
    assert has_line(confidence, x[3:], [0, 0.25, 0.5, 0.75, 1])
    assert has_line(shift, x, [point.shift.value if point.shift else np.nan for point in result.points])
    assert has_line(accuracy, x, [point.accuracy.value for point in result.points])
    assert has_line(ace, x, [point.ace.value for point in result.points])
    assert [label.get_text() for label in ace.get_xticklabels()][2:5] == ["certainly", "0 %", "25 %"]


def test_exposure_is_drawn_at_the_mean_number_of_times_and_named_by_its_range() -> None:
    result = exposure(estimators=("base",))
    above, below = plot(result).axes
    (line,) = result.lines
    assert has_line(above, line.told, [own.value for own in line.accuracy])
    assert has_line(above, line.told, [own.value for own in line.mean_confidence])
    assert [segment[1] for segment in bars(below)] == np.column_stack([line.told, line.instances]).tolist()
    assert [label.get_text() for label in below.get_xticklabels()][2:5] == ["2", "3–4", "5–8"]


@pytest.mark.parametrize("result", [AccuracyRejection((), ()), replace(calibration(), lines=())])
def test_nothing_to_draw_gives_empty_panels(result: AccuracyRejection) -> None:
    panels = plot(result).axes
    assert len(panels) == 2
    assert not any(axes.lines for axes in panels)


def test_shares_have_axes_from_0_to_1() -> None:
    for axes in plot(rejection()).axes:
        assert (axes.get_xlim(), axes.get_ylim()) == ((-0.03, 1.03), (-0.03, 1.03))
        ticks = axes.get_yticks().round(6)
        assert ticks[(ticks >= 0) & (ticks <= 1)].tolist() == [0, 0.2, 0.4, 0.6, 0.8, 1]


def lightness(color: str) -> float:
    red, green, blue = to_rgb(color)
    return 0.299 * red + 0.587 * green + 0.114 * blue


def test_grey_print_tells_every_pair_of_styles_apart() -> None:
    styles = [style_at(place) for place in range(MAX_SERIES)]
    assert all(one.marker != two.marker and one.dash != two.dash for one, two in combinations(styles, 2))
    assert all(lightness(own.color) < 0.7 for own in styles)  # seen on white
    first = [lightness(own.color) for own in styles[:2]]
    assert abs(first[0] - first[1]) > 0.2
    assert len({style_at(place) for place in range(64)}) == 64


def test_names_keep_both_ends() -> None:
    assert shortened("abcdefghij", 5) == "ab…ij"
    assert shortened("abcde", 5) == "abcde"
