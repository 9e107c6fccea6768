"""Calibration curves: accuracy against confidence on the very bins that the errors are computed on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calprobe.analysis.curves.curve import (
    DEFAULT_CURVE_OPTIONS,
    LEAD,
    Columns,
    CurveOptions,
    Curves,
    Line,
    estimate_columns,
    lines_of,
)
from calprobe.analysis.curves.inputs import (
    Reported,
    Values,
    chosen_estimators,
    lead_of,
    metrics_named,
    predictions,
    read_runs,
)
from calprobe.analysis.number_text import spelled
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import Series, each_line, only_run
from calprobe.analysis.plots.style import FAINT, INK, PAGE_INCHES
from calprobe.analysis.scored_run import Runs, ScoredRun
from calprobe.arrays import Floats
from calprobe.confidence import Confidence, Estimator, Headline, headline
from calprobe.metrics import Bins, Estimate, MetricResult, ace, bootstrap_many, ece, smooth_ece, wilson_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class BinnedError:
    """A binned calibration error with the very bins it was computed on."""

    value: Estimate
    bins: Bins
    low: Floats  # [bins], Wilson interval of the bin's accuracy; NaN for an empty bin
    high: Floats  # [bins]

    def columns(self) -> Columns:
        """The bins as columns of `Calibration.frame`."""
        return {
            **estimate_columns("value", self.value),
            "lower": self.bins.edges[:-1],
            "upper": self.bins.edges[1:],
            "count": self.bins.count.astype(np.float64),
            "confidence": self.bins.confidence,
            "accuracy": self.bins.accuracy,
            "low": self.low,
            "high": self.high,
        }


@dataclass(frozen=True, slots=True)
class SmoothError:
    """Smooth ECE with its curve: accuracy along confidence, without bins. Arrays are empty without instances."""

    value: Estimate
    confidence: Floats  # [points], evenly from 0 to 1
    accuracy: Floats  # [points], NaN beyond the instances or where next to none is near; may leave [0, 1] by a little
    density: Floats  # [points], of the instances, mean 1


@dataclass(frozen=True, slots=True)
class CalibrationLine(Line):
    """Accuracy against confidence, on the bins of ACE, on those of ECE, and smooth."""

    instances: int
    ace: BinnedError  # quantile bins
    ece: BinnedError  # ten bins of equal width
    smooth: SmoothError


@dataclass(frozen=True, slots=True)
class Calibration(Curves):
    """Calibration curves. Columns: metric (ace, ece, smooth_ece) with its value and interval, then a row a bin.

    `lower` and `upper` are the bin's edges, `count` its instances, `confidence` their mean, `low` and `high` the
    interval of `accuracy`. A row of smooth_ece is a point of its curve, with `density` for a count.
    """

    kind = "calibration"
    COLUMNS = (
        *(*LEAD, "metric", "value", "value_low", "value_high"),
        *("lower", "upper", "count", "density", "confidence", "accuracy", "low", "high"),
    )

    lines: tuple[CalibrationLine, ...]

    def only(self, estimators: Sequence[str]) -> Self:
        return replace(self, lines=lines_of(self.lines, estimators))

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            yield {**line.lead, "metric": "ace", **line.ace.columns()}
            yield {**line.lead, "metric": "ece", **line.ece.columns()}
            smooth = line.smooth
            points = {"confidence": smooth.confidence, "accuracy": smooth.accuracy, "density": smooth.density}
            yield {**line.lead, "metric": "smooth_ece", **estimate_columns("value", smooth.value), **points}


METRICS = ("ace", "ece", "smooth_ece")


def calibration(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Calibration:
    """Accuracy against confidence, on ACE's quantile bins and ECE's equal-width ones, and smoothed without bins.

    The numbers are those of `report`, with their intervals; a bin's accuracy has Wilson's interval, which takes its
    instances for independent.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, number of ACE's bins, bootstrap; estimators, by default base, margin,
            average_vote_2 and average_min.
    Returns:
        A line for each run and estimator. Bins of ties are empty; without instances all are, and values are NaN.
    Raises:
        UsageError: no run, one named twice, or an estimator that a run does not have. DataMissingError, CalprobeError:
            as `report`.
    """
    metrics = metrics_named(METRICS, options.scores)
    lines: list[CalibrationLine] = []
    for run in read_runs(runs, options.scores):
        chosen = chosen_estimators(run, options, headline(Headline.PAPER))
        samples = predictions(run.confidences([estimator.name for estimator in chosen]))
        values = bootstrap_many(metrics, samples, options.scores.resampling, run.clusters)
        lines += calibration_lines(run, chosen, values, options.scores.ace_bins)
    return Calibration(tuple(lines))


def calibration_lines(
    run: ScoredRun, estimators: Sequence[Estimator], values: Values, ace_bins: int
) -> list[CalibrationLine]:
    """A line for each estimator of a run, around the values that are known of its METRICS."""
    lines, confidences = [], run.confidences([estimator.name for estimator in estimators])
    for estimator in estimators:
        found, own = confidences[estimator.name], values[estimator.name]
        lines.append(
            CalibrationLine(
                *lead_of(run, estimator),
                instances=len(run.instances),
                ace=_binned(ace(found.confidence, found.correct, ace_bins), own["ace"]),
                ece=_binned(ece(found.confidence, found.correct), own["ece"]),
                smooth=_smooth(found, own["smooth_ece"]),
            )
        )
    return lines


def _binned(result: MetricResult, value: Estimate) -> BinnedError:
    bins = result.bins
    assert bins is not None, "binned metrics have bins"
    right = np.where(bins.count > 0, np.rint(bins.accuracy * bins.count), 0)
    return BinnedError(value, bins, *wilson_interval(right, bins.count))


def _smooth(found: Confidence, value: Estimate) -> SmoothError:
    curve = smooth_ece(found.confidence, found.correct).smoothed
    if curve is None:
        return SmoothError(value, *(np.empty(0) for _ in range(3)))
    # Beyond the least and the most confident instance smoothing only goes on as it was, out of [0, 1] even.
    low, high = found.confidence.min(), found.confidence.max()
    seen = (curve.confidence >= low) & (curve.confidence <= high)
    return SmoothError(value, curve.confidence, np.where(seen, curve.accuracy, np.nan), curve.density)


def reported_calibration(found: Reported) -> Calibration | None:
    """The curves of a run of a report; None without estimators to draw."""
    lines = calibration_lines(found.run, found.chosen, found.values, found.options.ace_bins)
    return Calibration(tuple(lines)) if lines else None


_IDENTITY: dict[str, Any] = {"color": FAINT, "linestyle": (0, (4, 2)), "linewidth": 0.9}
_SMOOTH: dict[str, Any] = {"color": FAINT, "linestyle": "-", "linewidth": 1.6}


def draw_calibration(result: Calibration, width: float = PAGE_INCHES) -> Figure:
    """A panel for each run and estimator, with ACE's own bins above and counts in ECE's ten bins below."""
    groups = each_line(result.lines)
    figure, pairs, columns = frame.panel_pairs(len(groups), width)
    for pair, group in zip(pairs, groups, strict=False):
        _draw_curve(pair.curve, group.series[0])
        _draw_counts(pair.counts, group.series[0])
        frame.title_panel(pair.curve, group.title, f"ACE {spelled(group.series[0].line.ace.value)}")
    frame.outer_labels([pair.curve for pair in pairs], columns, "", "Accuracy (share correct)")
    frame.outer_labels([pair.counts for pair in pairs], columns, "Confidence (higher is surer)", "Facts")
    if run := only_run(result.lines):
        figure.suptitle(run)
    bins = frame.sample(color=INK, marker="o", linestyle="none")
    entries = {"bin of ACE, 95 % interval": bins, "smooth curve": frame.sample(**_SMOOTH)}
    frame.legend_below(figure, entries | {"perfectly calibrated": frame.sample(**_IDENTITY)})
    frame.fix_layout(figure)
    return figure


def _draw_curve(axes: Axes, series: Series[CalibrationLine]) -> None:
    ace, smooth = series.line.ace, series.line.smooth
    axes.plot([0, 1], [0, 1], **_IDENTITY)
    axes.plot(smooth.confidence, smooth.accuracy, **_SMOOTH)
    frame.interval_bars(axes, ace.bins.confidence, ace.low, ace.high, series.style.color)
    axes.plot(ace.bins.confidence, ace.bins.accuracy, **series.style.dots())
    frame.share_axis(axes, "both")


def _draw_counts(axes: Axes, series: Series[CalibrationLine]) -> None:
    bins = series.line.ece.bins
    axes.stairs(bins.count, bins.edges, fill=True, color=series.style.color, alpha=0.55)
    axes.set_ylim(bottom=0)
