"""Accuracy against ACE over runs: are the more accurate models the better calibrated ones?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.curves.curve import (
    DEFAULT_CURVE_OPTIONS,
    LEAD,
    Columns,
    CurveOptions,
    Curves,
    Line,
    estimate_columns,
)
from calprobe.analysis.curves.inputs import (
    Reported,
    chosen_estimators,
    lead_of,
    metrics_named,
    predictions,
    read_runs,
)
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import short_names
from calprobe.analysis.plots.labels import Label, Placing, place_labels
from calprobe.analysis.plots.style import PAGE_INCHES, style_at
from calprobe.analysis.scored_run import Runs
from calprobe.confidence import BASE, Headline, headline
from calprobe.messages import counted
from calprobe.metrics import Estimate, bootstrap_many, spearman

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class AccuracyAcePoint(Line):
    """One run under one estimator: is the more accurate model the better calibrated one?"""

    accuracy: Estimate  # of base
    ace: Estimate  # of the estimator


@dataclass(frozen=True, slots=True)
class RankCorrelation:
    """Spearman's rank correlation of accuracy and ACE over the runs, for one estimator."""

    estimator: str
    runs: int  # number of them
    rho: Estimate  # [-1, 1]; below 0: the more accurate, the better calibrated. NaN with fewer than four runs


@dataclass(frozen=True, slots=True)
class AccuracyAce(Curves):
    """Accuracy against ACE over runs. Columns: a row a (run, estimator), with the estimator's correlation in each."""

    kind = "accuracy-ace"
    COLUMNS = (
        *(*LEAD, "accuracy", "accuracy_low", "accuracy_high", "ace", "ace_low", "ace_high"),
        *("spearman", "spearman_low", "spearman_high"),
    )

    points: tuple[AccuracyAcePoint, ...]
    correlations: tuple[RankCorrelation, ...]  # one for each estimator

    def _parts(self) -> Iterable[Columns]:
        rho = {found.estimator: found.rho for found in self.correlations}
        for point in self.points:
            own = estimate_columns("accuracy", point.accuracy) | estimate_columns("ace", point.ace)
            yield {**point.lead, **own, **estimate_columns("spearman", rho[point.estimator])}


def accuracy_ace(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> AccuracyAce:
    """Accuracy of base against the ACE of each estimator, a point a run, with their rank correlation.

    The correlation's interval is over models (`spearman`), those of the points over instances.

    Args:
        runs: run folders, open or by path; several, best all of one probe.
        options: reduction, compat, number of ACE's bins, bootstrap; estimators, by default base, margin,
            average_vote_2 and average_min.
    Returns:
        A point for each run and estimator, and a correlation for each estimator over the runs that have both numbers:
        NaN with fewer than four.
    Raises:
        UsageError: no run, one named twice, one without template 0 or a paraphrase, or an estimator that a run does not
            have. DataMissingError, CalprobeError: as `report`.
    """
    metrics, points = metrics_named(("accuracy", "ace"), options.scores), []
    for run in read_runs(runs, options.scores):
        chosen = chosen_estimators(run, options, headline(Headline.PAPER))
        (base,) = chosen_estimators(run, CurveOptions(estimators=(BASE,)), ())
        confidences = run.confidences(list(dict.fromkeys((base.name, *(estimator.name for estimator in chosen)))))
        values = bootstrap_many(metrics, predictions(confidences), options.scores.resampling, run.clusters)
        points += [
            AccuracyAcePoint(
                *lead_of(run, estimator), accuracy=values[BASE]["accuracy"], ace=values[estimator.name]["ace"]
            )
            for estimator in chosen
        ]
    return correlated(points)


def correlated(points: Sequence[AccuracyAcePoint]) -> AccuracyAce:
    """The points with the rank correlation of each estimator that has any."""
    names = dict.fromkeys(point.estimator for point in points)
    return AccuracyAce(tuple(points), tuple(_correlation(name, points) for name in names))


def _correlation(estimator: str, points: Sequence[AccuracyAcePoint]) -> RankCorrelation:
    both = [
        (point.accuracy.value, point.ace.value)
        for point in points
        if point.estimator == estimator and not math.isnan(point.accuracy.value + point.ace.value)
    ]
    accuracies, errors = zip(*both, strict=True) if both else ((), ())
    return RankCorrelation(estimator, len(both), spearman(accuracies, errors))


def reported_accuracy_ace(found: Reported) -> AccuracyAce:
    """The points of a run of a report, those of the paper's estimators."""
    run, values = found.run, found.values
    chosen = [run.estimators[name] for name in headline(Headline.PAPER) if name in values]
    return correlated(
        [AccuracyAcePoint(*lead_of(run, own), values[BASE]["accuracy"], values[own.name]["ace"]) for own in chosen]
    )


def join_accuracy_ace(several: Sequence[AccuracyAce]) -> AccuracyAce:
    """The points of several runs with their rank correlations."""
    return correlated([point for found in several for point in found.points])


PANEL_INCHES = 2.4
NAME_INCHES = 0.05  # that a panel grows for each name
BAR = "#c4c4c4"  # intervals: lighter than the lines that lead to names
_NAMES = Placing(over_lines=True)


def draw_accuracy_ace(result: AccuracyAce, width: float = PAGE_INCHES) -> Figure:
    """A panel for each estimator, with the models' names at their points and the rank correlation in the title."""
    columns = min(2, frame.columns_for(len(result.correlations), width))  # names need room
    rows = max(1, -(-len(result.correlations) // columns))
    most = max((found.runs for found in result.correlations), default=0)
    figure = frame.blank_figure(width, (PANEL_INCHES + NAME_INCHES * most) * rows + 0.2)
    panels = frame.panel_grid(figure, max(1, len(result.correlations)), columns)
    names = _names(result.points)
    shown = []
    for axes, found in zip(panels, result.correlations, strict=False):
        points = [own for own in result.points if own.estimator == found.estimator]
        points = [own for own in points if math.isfinite(own.accuracy.value) and math.isfinite(own.ace.value)]
        _draw_points(axes, points)
        frame.title_panel(axes, found.estimator, _spelled(found))
        shown.append(points)
    frame.outer_labels(panels, columns, "Accuracy of base (higher is better)", "ACE (lower is better)")
    frame.fix_layout(figure)
    for axes, points in zip(panels, shown, strict=False):
        place_labels(axes, [Label(names[own.run], own.accuracy.value, own.ace.value) for own in points], _NAMES)
    return figure


def _draw_points(axes: Axes, points: Sequence[AccuracyAcePoint]) -> None:
    accuracy, ace = [own.accuracy for own in points], [own.ace for own in points]
    for x, y in zip(accuracy, ace, strict=True):
        axes.plot([x.value, x.value], [y.low, y.high], color=BAR, linewidth=0.7)
        axes.plot([x.low, x.high], [y.value, y.value], color=BAR, linewidth=0.7)
    axes.plot([x.value for x in accuracy], [y.value for y in ace], **style_at(0).dots())
    axes.margins(0.12)
    axes.autoscale_view()
    axes.set(xlim=_in_shares(axes.get_xlim()), ylim=_in_shares(axes.get_ylim()))


def _in_shares(limits: tuple[float, float]) -> tuple[float, float]:
    """The axis shows where the points are, and nothing beyond 0 and 1 but a margin."""
    return max(limits[0], -frame.MARGIN), min(limits[1], 1 + frame.MARGIN)


def _spelled(found: RankCorrelation) -> str:
    runs = counted(found.runs, "run")
    if math.isnan(found.rho.value):
        return f"Spearman's ρ undefined with {runs}"
    return f"Spearman's ρ {_signed(found.rho)}, {runs}"


def _signed(rho: Estimate) -> str:
    value = f"{rho.value:z.2f}".replace("-", "−")
    if math.isnan(rho.low):
        return value
    return f"{value} ({rho.low:z.2f} to {rho.high:z.2f})".replace("-", "−")


def _names(points: Sequence[AccuracyAcePoint]) -> Mapping[str, str]:
    """What each run is called: its model without the organisation if no two runs share that, else the run as typed."""
    models = {own.run: own.model.rstrip("/").rpartition("/")[2] for own in points}
    called = models if len(set(models.values())) == len(models) else {run: run for run in models}
    short = short_names(list(called.values()))
    return {run: short[name] for run, name in called.items()}
