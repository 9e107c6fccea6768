"""Accuracy-rejection curves: how right the rest is when the least confident predictions are rejected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from calprobe.analysis.curves.curve import DEFAULT_CURVE_OPTIONS, LEAD, Columns, CurveOptions, Curves, Line, lines_of
from calprobe.analysis.curves.inputs import Reported, chosen_estimators, lead_of, read_runs
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import Group, Series, group_lines, run_styles, short_names
from calprobe.analysis.plots.labels import Label, Placing, place_labels
from calprobe.analysis.plots.style import FAINT, INK, PAGE_INCHES, SeriesStyle
from calprobe.analysis.scored_run import Runs, ScoredRun
from calprobe.arrays import Floats
from calprobe.confidence import Confidence, Estimator, Headline, headline
from calprobe.confidence.estimators import AVERAGE
from calprobe.metrics import (
    AccuracyBand,
    AtCoverage,
    AtThresholds,
    AtVotes,
    RejectionCurve,
    Resampling,
    accuracy_bands,
    reject_by_rank,
    reject_by_threshold,
    reject_by_vote,
)
from calprobe.metrics.rejection import THRESHOLDS, AccuracyCurve
from calprobe.metrics.sample import sort_instances

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Band:
    """A curve on a grid with its 95 % band."""

    x: Floats  # [points]
    y: Floats  # [points]
    low: Floats  # [points]
    high: Floats  # [points]


@dataclass(frozen=True, slots=True)
class RejectionPoints:
    """Points of an accuracy-rejection curve, each with the interval of its accuracy."""

    curve: RejectionCurve  # accuracy NaN where nothing is kept
    low: Floats  # [points]
    high: Floats  # [points]

    def columns(self) -> Columns:
        """The points as columns of `AccuracyRejection.frame`."""
        curve = self.curve
        return {
            "threshold": curve.threshold,
            "rejected": curve.rejected,
            "kept": curve.kept.astype(np.float64),
            "accuracy": curve.accuracy,
            "low": self.low,
            "high": self.high,
        }


@dataclass(frozen=True, slots=True)
class RejectionLine(Line):
    """Accuracy of what is kept when the least confident predictions of one estimator are rejected."""

    by_threshold: RejectionPoints  # the paper's form: kept is what has at least the confidence 0.0, 0.1, .. 1.0
    by_rank: RejectionCurve  # a point for each distinct confidence; drawn without the band, it is exact
    band: Band  # x: share rejected on an even grid in [0, 1), y: expected accuracy of the rest, with its band


@dataclass(frozen=True, slots=True)
class VoteLine(Line):
    """Share failed and accuracy of the rest when k of the paraphrases must agree; `threshold` of the curve is k."""

    votes: RejectionPoints  # a point for each k = 2 .. T


@dataclass(frozen=True, slots=True)
class AccuracyRejection(Curves):
    """Accuracy-rejection curves. Columns: form (threshold, rank, grid, vote), then one row a point.

    `threshold` is the confidence asked for (of vote: the number of votes), `rejected` a share, `kept` a number of
    instances (both NaN where the form has none), `low` and `high` the interval of `accuracy`.
    """

    kind = "accuracy-rejection"
    COLUMNS = (*LEAD, "form", "threshold", "rejected", "kept", "accuracy", "low", "high")

    lines: tuple[RejectionLine, ...]
    votes: tuple[VoteLine, ...]  # one for each run with two paraphrases or more; estimator is "vote"

    def only(self, estimators: Sequence[str]) -> Self:
        return replace(self, lines=lines_of(self.lines, estimators))

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            yield {**line.lead, "form": "threshold", **line.by_threshold.columns()}
            ranks, nothing = line.by_rank, np.full(len(line.by_rank.kept), np.nan)
            yield {**line.lead, "form": "rank", **RejectionPoints(ranks, nothing, nothing).columns()}
            band = line.band
            grid = {"rejected": band.x, "accuracy": band.y, "low": band.low, "high": band.high}
            yield {**line.lead, "form": "grid", **grid}
        for votes in self.votes:
            yield {**votes.lead, "form": "vote", **votes.votes.columns()}


# Shares rejected of the grid that bands are computed on; everything rejected has no accuracy.
GRID = tuple(k / 100 for k in range(100))
VOTE = "vote"  # stands where other lines name an estimator


def accuracy_rejection(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> AccuracyRejection:
    """Accuracy of what is kept against the share rejected: by threshold, by rank, and by votes of the paraphrases.

    Kissling et al. 2026, section 5.2. Bands are 95 % bootstrap intervals, point by point (`accuracy_bands`).

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, bootstrap; estimators, by default base, margin, average_vote_2 and average_min.
    Returns:
        A line for each run and estimator, and for each run with two paraphrases or more one of votes. Accuracy is NaN
        where nothing is kept, and everywhere without instances.
    Raises:
        UsageError: no run, one named twice, or an estimator that a run does not have. DataMissingError, CalprobeError:
            as `report`.

    `accuracy_rejection("runs/tiny-clm-mini").frame()` is the contents of `calprobe curve --kind accuracy-rejection`.
    """
    lines: list[RejectionLine] = []
    votes: list[VoteLine] = []
    for run in read_runs(runs, options.scores):
        found = rejection_of(run, chosen_estimators(run, options, headline(Headline.PAPER)), options.scores.resampling)
        lines += found.lines
        votes += found.votes
    return AccuracyRejection(tuple(lines), tuple(votes))


def rejection_of(run: ScoredRun, estimators: Sequence[Estimator], resampling: Resampling) -> AccuracyRejection:
    """A line for each estimator of one run, and one of its votes."""
    voters = _voters(run)
    confidences = run.confidences([estimator.name for estimator in (*estimators, *voters.values())])
    polls = [confidences[estimator.name] for estimator in voters.values()]
    bands = accuracy_bands(
        _curves(estimators, confidences) | ({VOTE: _votes(tuple(voters), polls)} if voters else {}),
        len(run.instances),
        resampling,
        run.clusters,
    )
    lines = tuple(_line(run, estimator, confidences[estimator.name], bands) for estimator in estimators)
    if not voters:
        return AccuracyRejection(lines, ())
    points = _points(reject_by_vote(tuple(voters), *_polled(polls)), bands[VOTE])
    templates = next(iter(voters.values())).templates
    return AccuracyRejection(lines, (VoteLine(run.label, run.model, VOTE, templates, points),))


def _voters(run: ScoredRun) -> dict[int, Estimator]:
    """For each k = 2 .. T an estimator that fails where the vote of k does."""
    averages = (own for own in run.estimators.values() if own.entry is AVERAGE)
    return {own.votes: own for own in averages if own.votes is not None}


def _curves(estimators: Sequence[Estimator], confidences: dict[str, Confidence]) -> dict[str, AccuracyCurve]:
    """The two curves of each estimator that get a band."""
    curves: dict[str, AccuracyCurve] = {}
    for estimator in estimators:
        found = confidences[estimator.name]
        instances = sort_instances(found.confidence, found.correct)
        curves[f"threshold {estimator.name}"] = AtThresholds(instances, np.array(THRESHOLDS))
        curves[f"grid {estimator.name}"] = AtCoverage(instances, 1 - np.array(GRID))
    return curves


def _polled(polls: Sequence[Confidence]) -> tuple[np.ndarray, np.ndarray]:
    """Failed and correct, both [votes, instances]."""
    return np.array([found.failed for found in polls]), np.array([found.correct for found in polls])


def _votes(numbers: Sequence[int], polls: Sequence[Confidence]) -> AtVotes:
    return AtVotes(numbers, *_polled(polls))


def _line(run: ScoredRun, estimator: Estimator, found: Confidence, bands: dict[str, AccuracyBand]) -> RejectionLine:
    by_threshold = reject_by_threshold(found.confidence, found.correct)
    grid = bands[f"grid {estimator.name}"]
    return RejectionLine(
        *lead_of(run, estimator),
        by_threshold=_points(by_threshold, bands[f"threshold {estimator.name}"]),
        by_rank=reject_by_rank(found.confidence, found.correct),
        band=Band(np.array(GRID), grid.accuracy, grid.low, grid.high),
    )


def _points(curve: RejectionCurve, band: AccuracyBand) -> RejectionPoints:
    return RejectionPoints(curve, band.low, band.high)


def reported_rejection(found: Reported) -> AccuracyRejection | None:
    """The curves of a run of a report; None without any."""
    curves = rejection_of(found.run, found.chosen, found.options.resampling)
    return curves if curves.lines or curves.votes else None


def join_rejections(several: Sequence[AccuracyRejection]) -> AccuracyRejection:
    """The curves of several runs in one result."""
    lines = tuple(line for found in several for line in found.lines)
    return AccuracyRejection(lines, tuple(votes for found in several for votes in found.votes))


REJECTED = "Share rejected, least confident first"
KEPT = "Accuracy of the rest (share correct)"
MOST_BANDS = 4  # in one panel; more cover each other
PANEL_INCHES = 2.6  # high
_VOTES = Placing(size=6.0, reach=14.0, clearance=3.0, over_lines=True)
_THRESHOLDS = Placing(size=6.0, reach=22.0, clearance=3.0, leader_from=6.0)
_VOTE = SeriesStyle(INK, "*", (0, ()))


def draw_accuracy_rejection(result: AccuracyRejection, width: float = PAGE_INCHES) -> Figure:
    """One run: a panel by threshold, with the votes, and one by rank. Several: a panel for each estimator, by rank with
    the thresholds as points, and one for the votes."""
    groups = group_lines(result.lines)
    if len({own.run for own in (*result.lines, *result.votes)}) > 1:
        return _several_runs(groups, result.votes, width)
    return _one_run(groups, result.votes, width)


def _one_run(groups: Sequence[Group[RejectionLine]], votes: Sequence[VoteLine], width: float) -> Figure:
    n_panels = 2 * max(1, len(groups))
    columns = min(2, frame.columns_for(n_panels, width))
    figure = frame.blank_figure(width, PANEL_INCHES * n_panels / columns + 0.5)
    panels = frame.panel_grid(figure, n_panels, columns)
    entries: dict[str, Artist] = {}
    for by_threshold, by_rank, group in zip(panels[::2], panels[1::2], groups, strict=False):
        for series in group.series:
            curve = series.line.by_threshold.curve
            by_threshold.plot(curve.rejected, curve.accuracy, **series.style.points())
            _draw_rank(by_rank, series, band=len(group.series) <= MOST_BANDS, marked=True)
            entries[series.name] = frame.sample(**series.style.points())
        bands = "bands: 95 % intervals" if by_rank.collections else ""
        frame.title_panel(by_threshold, "By threshold of confidence", f"numbers: thresholds of {group.series[0].name}")
        frame.title_panel(by_rank, "By rank of confidence", bands)
    for own in votes:
        entries["k paraphrases agree"] = _draw_votes(panels[0], own, _VOTE)
    runs = [own.run for group in groups for own in (series.line for series in group.series)]
    figure.suptitle(short_names(runs)[runs[0]] if runs else "")
    _finish(figure, panels, columns, entries)
    for at, group in enumerate(groups):
        if at == 0:
            place_labels(panels[0], _vote_names(votes), _VOTES)
        place_labels(panels[2 * at], _threshold_names(group), _THRESHOLDS)
    return figure


def _several_runs(groups: Sequence[Group[RejectionLine]], votes: Sequence[VoteLine], width: float) -> Figure:
    n_panels = len(groups) + bool(votes)
    columns = frame.columns_for(n_panels, width)
    figure = frame.blank_figure(width, PANEL_INCHES * -(-n_panels // columns) + 0.6)
    panels = frame.panel_grid(figure, n_panels, columns)
    entries: dict[str, Artist] = {}
    for axes, group in zip(panels, groups, strict=False):
        for series in group.series:
            _draw_rank(axes, series, band=len(group.series) <= MOST_BANDS, marked=False)
            curve, style = series.line.by_threshold.curve, series.style
            axes.plot(curve.rejected, curve.accuracy, **style.dots())
            entries[series.name] = frame.sample(**style.points())
        axes.set_title(group.title, loc="left")
    if votes:
        runs = [own.run for group in groups for own in (series.line for series in group.series)]
        styles, names = run_styles([*runs, *(own.run for own in votes)]), short_names(runs)
        for own in votes:
            _draw_votes(panels[-1], own, styles[own.run])
            entries.setdefault(names.get(own.run, own.run), frame.sample(**styles[own.run].points()))
        panels[-1].set_title("k paraphrases agree", loc="left")
    entries["threshold 0.0, 0.1, .. 1.0"] = frame.sample(**SeriesStyle(FAINT, "o", (0, ())).dots())
    _finish(figure, panels, columns, entries)
    place_labels(panels[-1], _vote_names(votes[:1]), _VOTES)
    return figure


def _finish(figure: Figure, panels: Sequence[Axes], columns: int, entries: dict[str, Artist]) -> None:
    for axes in panels:
        frame.share_axis(axes, "both")
    frame.outer_labels(panels, columns, REJECTED, KEPT)
    frame.legend_below(figure, entries)
    frame.fix_layout(figure)


def _draw_rank(axes: Axes, series: Series[RejectionLine], band: bool, marked: bool) -> None:
    """The exact curve. Some of its points are marked, to be told apart in grey; all where ties leave few of them."""
    curve, grid, style = series.line.by_rank, series.line.band, series.style
    if band and np.isfinite(grid.low).any():
        axes.fill_between(grid.x, grid.low, grid.high, color=style.color, alpha=0.13, linewidth=0)
    every = None if len(curve.rejected) < len(grid.x) / 2 else 0.1
    axes.plot(curve.rejected, curve.accuracy, **(style.points() if marked else style.line()), markevery=every)


def _draw_votes(axes: Axes, own: VoteLine, style: SeriesStyle) -> Artist:
    curve = own.votes.curve
    frame.interval_bars(axes, curve.rejected, own.votes.low, own.votes.high, style.color)
    axes.plot(curve.rejected, curve.accuracy, **style.dots(), markersize=6)
    return frame.sample(**style.dots(), markersize=6)


def _vote_names(votes: Sequence[VoteLine]) -> list[Label]:
    return [
        Label(f"k={k:.0f}", x, y)
        for own in votes
        for k, x, y in _defined(own.votes.curve.threshold, own.votes.curve.rejected, own.votes.curve.accuracy)
    ]


def _defined(*columns: Floats) -> list[tuple[float, ...]]:
    """The points whose numbers are all there."""
    return [point for point in zip(*(own.tolist() for own in columns), strict=True) if all(map(math.isfinite, point))]


def _threshold_names(group: Group[RejectionLine]) -> list[Label]:
    """Thresholds by the points of the first series; the others' follow in the same order, and would crowd it."""
    return [
        Label(f"{threshold:.1f}", x, y, series.style.color)
        for series in group.series[:1]
        for curve in (series.line.by_threshold.curve,)
        for threshold, x, y in _defined(curve.threshold, curve.rejected, curve.accuracy)
    ]
