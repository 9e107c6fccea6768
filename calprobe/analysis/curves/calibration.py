"""Calibration curves: accuracy against confidence on the very bins that the errors are computed on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

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
from calprobe.analysis.number_text import interval, number
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import Series, run_rows
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.names import run_names
from calprobe.analysis.plots.style import FAINT, INK
from calprobe.analysis.scored_run import Runs, ScoredRun
from calprobe.arrays import Floats, Ints
from calprobe.confidence import Estimator, Headline, headline
from calprobe.metrics import (
    Bins,
    Estimate,
    MetricResult,
    ace,
    bootstrap_many,
    ece,
    smooth_ece,
    wilson_interval,
)
from calprobe.metrics.bins import width_edges
from calprobe.metrics.bootstrap import Predictions
from calprobe.metrics.simultaneous import simultaneous_normal

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class BinnedError:
    """A binned calibration error with the very bins it was computed on."""

    value: Estimate
    bins: Bins
    low: Floats  # [bins], Wilson interval of the bin's accuracy; NaN for an empty bin
    high: Floats  # [bins]
    band_low: Floats  # [bins], the same at the level at which those of all bins hold together (Šidák)
    band_high: Floats  # [bins]

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
            "band_low": self.band_low,
            "band_high": self.band_high,
        }


@dataclass(frozen=True, slots=True)
class SmoothError:
    """Smooth ECE with its curve: accuracy along confidence, without bins. Arrays are empty without instances."""

    value: Estimate
    confidence: Floats  # [points], evenly from 0 to 1
    accuracy: Floats  # [points], in [0, 1]; NaN beyond the instances or where next to none is near
    density: Floats  # [points], of the instances, mean 1


@dataclass(frozen=True, slots=True)
class CalibrationLine(Line):
    """Accuracy against confidence, on the bins of ACE, on those of ECE, and smooth."""

    instances: int
    ace: BinnedError  # quantile bins
    ece: BinnedError  # ten bins of equal width
    smooth: SmoothError
    histogram: Ints  # [20], instances in as many bins of equal width over [0, 1]


@dataclass(frozen=True, slots=True)
class Calibration(Curves):
    """Calibration curves. Columns: metric (ace, ece, smooth_ece) with its value and interval, then a row a bin.

    `lower` and `upper` are the bin's edges, `count` its instances, `confidence` their mean, `low` and `high` the
    interval of `accuracy`, `band_low` and `band_high` the intervals that hold for all bins at once. A row of smooth_ece
    is a point of its curve, with `density` for a count. Rows of the metric `histogram` have no value: they count the
    instances in 20 bins of equal width.
    """

    kind = "calibration"
    COLUMNS = (
        *(*LEAD, "metric", "value", "value_low", "value_high"),
        *("lower", "upper", "count", "density", "confidence", "accuracy", "low", "high", "band_low", "band_high"),
    )

    lines: tuple[CalibrationLine, ...]
    of: str = "facts"  # what an instance is, in the plural

    def only(self, estimators: Sequence[str]) -> Self:
        """See `Curves.only`."""
        return replace(self, lines=lines_of(self.lines, estimators))

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            yield {**line.lead, "metric": "ace", **line.ace.columns()}
            yield {**line.lead, "metric": "ece", **line.ece.columns()}
            smooth = line.smooth
            points = {"confidence": smooth.confidence, "accuracy": smooth.accuracy, "density": smooth.density}
            yield {**line.lead, "metric": "smooth_ece", **estimate_columns("value", smooth.value), **points}
            edges = width_edges(len(line.histogram))
            counts = {"lower": edges[:-1], "upper": edges[1:], "count": line.histogram.astype(np.float64)}
            yield {**line.lead, "metric": "histogram", **counts}


METRICS = ("ace", "ece", "smooth_ece")
HISTOGRAM_BINS = 20  # as the paper's Figure 9


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
        chosen = chosen_estimators(run, options, headline(Headline.PAPER), probabilities=True)
        samples = predictions(run.confidences([estimator.name for estimator in chosen]))
        values = bootstrap_many(metrics, samples, options.scores.resampling, run.clusters)
        lines += calibration_lines(run, chosen, values, options.scores.ace_bins)
    return Calibration(tuple(lines))


def calibration_lines(
    run: ScoredRun, estimators: Sequence[Estimator], values: Values, ace_bins: int | None
) -> list[CalibrationLine]:
    """A line for each estimator of a run, around the values that are known of its METRICS."""
    confidences = run.confidences([estimator.name for estimator in estimators])
    return [
        calibration_line(lead_of(run, own), predictions(confidences)[own.name], values[own.name], ace_bins)
        for own in estimators
    ]


def calibration_line(
    lead: tuple[str, str, str, tuple[int, ...]],
    sample: Predictions,
    values: Mapping[str, Estimate],
    ace_bins: int | None,
) -> CalibrationLine:
    """The line of some confidences and their correctness, around the values that are known of its METRICS."""
    confidence, correct = (np.asarray(own) for own in sample)
    return CalibrationLine(
        *lead,
        instances=len(confidence),
        ace=_binned(ace(confidence, correct, ace_bins), values["ace"]),
        ece=_binned(ece(confidence, correct), values["ece"]),
        smooth=_smooth(confidence, correct, values["smooth_ece"]),
        histogram=_bins(ece(confidence, correct, HISTOGRAM_BINS)).count,
    )


def _bins(result: MetricResult) -> Bins:
    assert result.bins is not None, "binned metrics have bins"
    return result.bins


def _binned(result: MetricResult, value: Estimate) -> BinnedError:
    bins = _bins(result)
    right = np.where(bins.count > 0, np.rint(bins.accuracy * bins.count), 0)
    together = simultaneous_normal(int((bins.count > 0).sum()))
    return BinnedError(value, bins, *wilson_interval(right, bins.count), *wilson_interval(right, bins.count, together))


def _smooth(confidence: Floats, correct: npt.NDArray[np.bool_], value: Estimate) -> SmoothError:
    curve = smooth_ece(confidence, correct).smoothed
    if curve is None:
        return SmoothError(value, *(np.empty(0) for _ in range(3)))
    # Beyond the least and the most confident instance smoothing only goes on as it was.
    low, high = confidence.min(), confidence.max()
    seen = (curve.confidence >= low) & (curve.confidence <= high)
    return SmoothError(value, curve.confidence, np.where(seen, curve.accuracy, np.nan), curve.density)


def reported_calibration(found: Reported) -> Calibration | None:
    """The curves of a run of a report; None without estimators to draw."""
    lines = calibration_lines(found.run, found.chosen, found.values, found.options.ace_bins)
    return Calibration(tuple(lines)) if lines else None


_IDENTITY: dict[str, Any] = {"color": FAINT, "linestyle": (0, (4, 2)), "linewidth": 0.9}
_SMOOTH: dict[str, Any] = {"color": FAINT, "linestyle": "-", "linewidth": 1.6}
LONG, HIGH_ROWS = 7, 2  # letters of a word that is long beside a panel of counts; rows with room for it
OVERLAY_INCHES = 2.0  # least width of a panel of several estimators
OVERLAY_SIZES = frame.PairSizes(OVERLAY_INCHES, 2.8)


def draw_calibration(result: Calibration, look: Look = DEFAULT_LOOK) -> Figure:
    """A row for each run, a panel for each estimator: ACE's own bins above, counts in bins of equal width below.

    As an overlay, a panel for each run with all of its estimators, a line through the bins of each.
    """
    return _overlaid(result, look) if look.form == "overlay" else _panels(result, look)


def _panels(result: Calibration, look: Look) -> Figure:
    rows, names = run_rows(result.lines), run_names(result.lines, look)
    figure, blocks = frame.panel_pairs([len(row) for row in rows.values()], look, frame.PairSizes())
    for block, (run, row) in zip(blocks, rows.items(), strict=False):
        for at, (pair, series) in enumerate(zip(block, row, strict=True)):
            _draw_curve(pair.curve, series)
            _draw_counts(pair.counts, [series])
            heading = names[run] if at == 0 and len(rows) > 1 else ""
            first_row = len(rows) > 1 and not any(other.left for other in block[1 : at + 1])
            frame.title_panel(pair.curve, series.name, _spelled(series.line.ace.value), heading, room=first_row)
    _label([pair for block in blocks for pair in block], result.of)
    bins = frame.sample(color=INK, marker="o", linestyle="none")
    entries = {"bin of ACE, 95 % interval": bins, "smooth curve": frame.sample(**_SMOOTH)}
    entries["perfectly calibrated"] = frame.sample(**_IDENTITY)
    frame.finish(figure, look, entries, next(iter(names.values())) if len(rows) == 1 else "")
    return figure


def _spelled(ace: Estimate) -> str:
    """In three decimals, which a narrow panel has room for: ACE .055 (.021-.083)."""
    value = number(ace.value) if math.isnan(ace.value) else f"{ace.value:.3f}".replace("0.", ".", 1)
    return f"ACE {value} ({interval(ace)})" if interval(ace) else f"ACE {value}"


def _overlaid(result: Calibration, look: Look) -> Figure:
    rows, names = run_rows(result.lines), run_names(result.lines, look)
    figure, blocks = frame.panel_pairs([len(rows)] if rows else [], look, OVERLAY_SIZES)
    entries: dict[str, Artist] = {}
    for pair, (run, row) in zip(blocks[0], rows.items(), strict=False):
        pair.curve.plot([0, 1], [0, 1], **_IDENTITY)
        for series in row:
            ace = series.line.ace
            frame.interval_bars(pair.curve, ace.bins.confidence, ace.low, ace.high, series.style.color)
            kept = ace.bins.count > 0
            pair.curve.plot(ace.bins.confidence[kept], ace.bins.accuracy[kept], **series.style.points())
            entries[series.name] = frame.sample(**series.style.points())
        _draw_counts(pair.counts, row)
        frame.share_axis(pair.curve, "both")
        frame.title_panel(pair.curve, names[run])
    _label(blocks[0], result.of)
    frame.finish(figure, look, entries | {"perfectly calibrated": frame.sample(**_IDENTITY)})
    return figure


def _label(pairs: Sequence[frame.PanelPair], of: str) -> None:
    """All panels have the same axes, with their numbers at the left and at the lowest ones.

    Where many rows are low, n stands for a word that would go on beside the next panel.
    """
    counted = of.capitalize() if len(of) < LONG or sum(pair.left for pair in pairs) <= HIGH_ROWS else "n"
    most = max((pair.counts.get_ylim()[1] for pair in pairs), default=1.0)
    for pair in pairs:
        if pair is not pairs[0]:
            pair.counts.sharey(pairs[0].counts)
        pair.counts.set_ylim(0, most)
        pair.curve.tick_params(labelleft=pair.left)
        pair.counts.tick_params(labelleft=pair.left, labelbottom=pair.lowest)
        if pair.left:
            pair.curve.set_ylabel("Accuracy")
            pair.counts.set_ylabel(counted)
        if pair.lowest:
            pair.counts.set_xlabel("Confidence")


def _draw_curve(axes: Axes, series: Series[CalibrationLine]) -> None:
    ace, smooth = series.line.ace, series.line.smooth
    axes.plot([0, 1], [0, 1], **_IDENTITY)
    axes.plot(smooth.confidence, smooth.accuracy, **_SMOOTH)
    frame.interval_bars(axes, ace.bins.confidence, ace.low, ace.high, series.style.color)
    axes.plot(ace.bins.confidence, ace.bins.accuracy, **series.style.dots())
    frame.share_axis(axes, "both")


def _draw_counts(axes: Axes, row: Sequence[Series[CalibrationLine]]) -> None:
    """Filled for one estimator; outlines for several, which would cover each other."""
    for series in row:
        counts, edges, color = series.line.histogram, width_edges(len(series.line.histogram)), series.style.color
        if len(row) == 1:
            axes.stairs(counts, edges, fill=True, color=color, alpha=0.55)
        else:
            axes.stairs(counts, edges, color=color, linestyle=series.style.dash, linewidth=0.9)
    axes.set_ylim(bottom=0)
