"""What is drawn is what the results say: data read back from the lines; gaps; styles that grey print tells apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from curve_samples import (
    MANY,
    PAPERS,
    SIXTEEN,
    accuracy_ace,
    calibration,
    exposure,
    markers,
    options,
    predictions,
    rejection,
)
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from calprobe.arrays import Floats
from calprobe.curves import plot
from calprobe.curves.accuracy_rejection import AccuracyRejection
from calprobe.metrics import reject_by_rank
from calprobe.show.palette import MAX_SERIES
from calprobe.show.plots.frame import shares_from
from calprobe.show.plots.groups import group_lines
from calprobe.show.plots.look import Look
from calprobe.show.plots.names import shortened
from calprobe.show.plots.style import series_styles, style_at


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
    panels = plot(result).axes
    for at, line in enumerate(result.lines):
        by_threshold, by_rank = panels[2 * (at // 4) : 2 * (at // 4) + 2]  # four estimators in a pair of panels
        curve, ranks = line.by_threshold.curve, line.by_rank
        assert curve.kept[0] >= 10  # of ten facts kept and more
        assert has_line(by_threshold, curve.rejected[curve.kept >= 10], curve.accuracy[curve.kept >= 10])
        assert has_line(by_rank, ranks.rejected[ranks.kept >= 10], ranks.accuracy[ranks.kept >= 10])
    by_threshold = panels[0]
    votes = result.votes[0].votes
    assert has_line(by_threshold, votes.curve.rejected, votes.curve.accuracy)
    ends = [[[x, low], [x, high]] for x, low, high in zip(votes.curve.rejected, votes.low, votes.high, strict=True)]
    assert bars(by_threshold) == ends
    assert {f"k={k}" for k in (2, 3, 4, 5)} <= {text.get_text() for text in by_threshold.texts}


@pytest.mark.proof
def test_bands_are_drawn_whatever_the_number_of_lines() -> None:
    result = rejection(estimators=PAPERS[:2])
    bands = plot(result).axes[1].collections
    for band, line in zip(bands, result.lines, strict=True):
        (outline,) = (path.vertices for path in band.get_paths())
        kept = (1 - line.band.x) * 400 >= 10
        assert {(x, y) for x, y in outline.tolist()} >= set(zip(line.band.x[kept], line.band.low[kept], strict=True))
    assert [len(axes.collections) for axes in plot(rejection()).axes[1::2]] == [4, 2]
    assert [len(axes.collections) for axes in plot(rejection(MANY, ("base",))).axes[::2]] == [4, 4, 2]


def test_of_few_facts_a_tenth_is_enough() -> None:
    confidence, correct = predictions(0, 30)
    (line,) = rejection(estimators=PAPERS[:1]).lines
    line = replace(line, by_rank=reject_by_rank(confidence, correct))
    by_rank = plot(AccuracyRejection((line,), ())).axes[1]
    assert has_line(by_rank, line.by_rank.rejected[:-2], line.by_rank.accuracy[:-2])


def test_several_runs_are_compared_in_a_panel_for_each_estimator() -> None:
    result = rejection(MANY[:3], PAPERS[:2])
    base, margin, votes = plot(result).axes
    assert [axes.get_title(loc="left") for axes in (base, margin, votes)] == ["base", "margin", "k paraphrases agree"]
    for line in result.lines:
        axes = base if line.estimator == "base" else margin
        for curve in (line.by_rank, line.by_threshold.curve):
            assert has_line(axes, curve.rejected[curve.kept >= 10], curve.accuracy[curve.kept >= 10])
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
    assert has_line(by_rank, line.by_rank.rejected[:-9], line.by_rank.accuracy[:-9])
    assert "bands: 95 % intervals" not in {text.get_text() for text in by_rank.texts}
    several = AccuracyRejection((line, replace(line, run="b")), (votes, replace(votes, run="b")))
    assert not any("95 %" in text.get_text() for axes in plot(several).axes for text in axes.texts)


def test_more_series_than_styles_go_on_in_another_panel() -> None:
    groups = group_lines(rejection(MANY, ("base",)).lines)
    assert [(group.title, len(group.series)) for group in groups] == [("base", 8), ("base", 2)]
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
        assert np.array_equal(histogram.get_data().values, line.histogram)
        assert np.array_equal(histogram.get_data().edges, np.linspace(0, 1, 21))
        assert below.get_xlim() == above.get_xlim()


def test_an_overlay_has_all_estimators_of_a_run_in_one_panel() -> None:
    result = calibration(MANY[:2], ("base", "margin"))
    panels = plot(result, look=Look(form="overlay")).axes
    for run, above, below in zip(MANY[:2], panels[:2], panels[2:], strict=True):
        for line in (line for line in result.lines if line.run == run):
            assert has_line(above, line.ace.bins.confidence, line.ace.bins.accuracy)
        assert len(below.patches) == 2


def test_options_are_drawn_with_bands_and_the_shared_accuracy_once() -> None:
    result = options()
    accuracy, confidence, error = plot(result).axes
    assert has_line(accuracy, result.lines[0].options, result.lines[0].means.accuracy)
    assert (len(accuracy.lines), len(accuracy.collections)) == (1, 1)
    for axes, name in ((confidence, "mean_confidence"), (error, "ace")):
        for line, band in zip(result.lines, axes.collections, strict=True):
            assert has_line(axes, line.options, getattr(line.means, name))
            (outline,) = (path.vertices for path in band.get_paths())
            assert set(getattr(line.low, name)) <= set(outline[:, 1].tolist())


@pytest.mark.proof
def test_options_of_many_runs_have_the_same_axes() -> None:
    panels = plot(options(MANY)).axes
    assert len(panels) == 10  # of eight runs and of two: accuracy, confidence and ACE of base and margin
    assert len({axes.get_ylim() for axes in panels[3:5] + panels[8:]}) == 1
    assert len({axes.get_ylim() for axes in panels[:3] + panels[5:8]}) == 1


def test_accuracy_and_ace_of_every_model_bear_its_name() -> None:
    result = accuracy_ace(6, ("base", "margin"))
    for axes, estimator in zip(plot(result).axes, ("base", "margin"), strict=True):
        own = [point for point in result.points if point.estimator == estimator]
        assert all(has_line(axes, [point.accuracy.value], [point.ace.value]) for point in own)
        names = {text.get_text() for text in axes.texts}
        assert {point.model.removeprefix("org/") for point in own} <= names
        assert "Spearman's ρ −0.45 (−0.81 to 0.12), n = 6" in names


def test_many_models_are_numbered_in_every_panel_and_named_in_the_legend() -> None:
    figure = plot(accuracy_ace(names=SIXTEEN, estimators=("base", "margin")))
    for axes in figure.axes:
        assert {str(number) for number in range(1, 17)} <= {text.get_text() for text in axes.texts}
    (legend,) = figure.legends
    entries = [text.get_text() for text in legend.get_texts()]
    assert entries[:16] == [f"{number}  {name}" for number, name in enumerate(SIXTEEN, 1)]
    assert entries[16:] == ["masked model", "causal model", "models of one family"]
    markers = {line.get_marker() for axes in figure.axes for line in axes.lines}
    assert {"o", "s"} <= markers


def test_models_of_one_family_are_joined_from_small_to_large() -> None:
    result = accuracy_ace(names=("opt-1.3b", "gpt2-xl", "gpt2", "opt-125m", "gpt2-medium"), estimators=("base",))
    (axes,) = plot(result).axes
    points = {point.model.removeprefix("org/"): point for point in result.points}
    for family in (("gpt2", "gpt2-medium", "gpt2-xl"), ("opt-125m", "opt-1.3b")):
        own = [points[name] for name in family]
        assert has_line(axes, [point.accuracy.value for point in own], [point.ace.value for point in own])


def test_two_runs_of_one_model_are_called_by_their_folders() -> None:
    result = accuracy_ace(5, ("base",))
    points = tuple(replace(point, model="gpt2" if at < 2 else point.model) for at, point in enumerate(result.points))
    names = {text.get_text() for text in plot(replace(result, points=points)).axes[0].texts}
    assert {"model-0-50m", "model-1-100m", "model-4-800m"} <= names


def test_markers_show_the_percentage_that_they_name() -> None:
    result = markers()
    confidence, accuracy, ace, shift = plot(result).axes
    places = np.arange(8.0)  # plain, verbal, percentages
    assert has_line(confidence, [point.mean_confidence.value for point in result.points], places)
    assert has_line(confidence, [0, 0.25, 0.5, 0.75, 1], places[3:])
    assert has_line(shift, [point.shift.value for point in result.points if point.shift], places[1:])
    assert has_line(accuracy, [point.accuracy.value for point in result.points], places)
    assert has_line(ace, [point.ace.value for point in result.points], places)
    assert [label.get_text() for label in confidence.get_yticklabels()][2:5] == ["certainly", "0 %", "25 %"]


def test_several_runs_of_markers_are_a_matrix_with_their_average() -> None:
    result = markers(SIXTEEN[:3])
    figure = plot(result)
    for axes, field in zip(figure.axes, ("shift", "accuracy_shift", "ace_shift"), strict=True):
        shown = np.asarray(axes.images[0].get_array())
        values = [getattr(point, field).value for point in result.points if point.shift]
        expected = np.reshape(values, (3, 7))
        assert shown == pytest.approx(np.vstack([expected, expected.mean(axis=0)]))
        bold = [text for text in axes.texts if text.get_fontweight() == "bold"]
        assert len(bold) == (21 if field == "accuracy_shift" else 0)  # corrected p below 0.05
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [*SIXTEEN[:3], "Average"]


def test_exposure_is_drawn_at_the_mean_number_of_times_and_named_by_its_range() -> None:
    result = exposure(estimators=("base",))
    above, below = plot(result).axes
    (line,) = result.lines
    x = np.where(line.told <= 1, 2 * line.told, 2 + np.log2(np.maximum(line.told, 1)))
    assert has_line(above, x - 0.05, [own.value for own in line.accuracy])
    assert has_line(above, x + 0.05, [own.value for own in line.mean_confidence])
    (stems,) = below.lines
    assert stems.get_xydata()[1::3].tolist() == np.column_stack([x, line.instances]).tolist()
    assert [label.get_text() for label in below.get_xticklabels()][2:5] == ["2", "3–4", "5–8"]


@pytest.mark.parametrize("result", [AccuracyRejection((), ()), replace(calibration(), lines=())])
def test_nothing_to_draw_gives_empty_panels(result: AccuracyRejection) -> None:
    panels = plot(result).axes
    assert len(panels) == 2
    assert not any(axes.lines for axes in panels)


def test_shares_have_axes_from_0_to_1() -> None:
    for axes in plot(calibration()).axes[:2]:
        assert (axes.get_xlim(), axes.get_ylim()) == ((-0.03, 1.03), (-0.03, 1.03))
        ticks = axes.get_yticks().round(6)
        assert ticks[(ticks >= 0) & (ticks <= 1)].tolist() == [0, 0.2, 0.4, 0.6, 0.8, 1]


@pytest.mark.parametrize(("least", "start"), [(0.0, 0.0), (0.12, 0.0), (0.33, 0.3), (0.95, 0.9)])
def test_an_axis_that_does_not_begin_at_0_is_marked(least: float, start: float) -> None:
    panels = [Figure().subplots(), Figure().subplots()]
    shares_from(panels, [0.98, least, np.nan])
    for axes in panels:
        low, high = axes.get_ylim()
        below = 0.06 if start else 0.03  # room for the mark
        assert (low, high) == pytest.approx((start - below * (1 - start), 1 + 0.03 * (1 - start)))
        assert len([line for line in axes.lines if line.get_gid() == "break"]) == (2 if start else 0)


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
    assert len(set(series_styles(["margin", *map(str, range(18)), "base"]).values())) == 20


def test_names_keep_both_ends() -> None:
    assert shortened("abcdefghij", 5) == "ab…ij"
    assert shortened("abcde", 5) == "abcde"
