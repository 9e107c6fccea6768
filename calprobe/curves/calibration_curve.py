"""Calibration curves: accuracy against confidence on the very bins that the errors are computed on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from calprobe.arrays import Floats, Ints
from calprobe.cells.opening import Runs
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import Estimator, Headline, headline
from calprobe.curves.curve import (
    DEFAULT_CURVE_OPTIONS,
    LEAD,
    Columns,
    CurveOptions,
    Curves,
    Line,
    estimate_columns,
    lines_of,
    tidy,
)
from calprobe.curves.inputs import (
    Reported,
    Values,
    chosen_estimators,
    lead_of,
    metrics_named,
    predictions,
    read_runs,
)
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
from calprobe.metrics.error_shown import ErrorName, error_shown, has_few_values
from calprobe.metrics.simultaneous import simultaneous_normal
from calprobe.metrics.statistics import design_effect

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class BinnedError:
    """A binned calibration error with the very bins it was computed on."""

    value: Estimate
    bins: Bins
    low: Floats  # [bins], Wilson interval of the bin's accuracy; NaN for an empty bin
    high: Floats  # [bins]
    band_low: Floats  # [bins], the same at the level at which those of all bins hold together (Šidák)
    band_high: Floats  # [bins]
    questions: Ints | None = None  # [bins], different questions; None: each instance is its own

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
            **({} if self.questions is None else {"questions": self.questions.astype(np.float64)}),
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
    questions: int | None = None  # different ones among the instances; None: each instance is its own
    error: ErrorName = "ace"  # the one that figures print, and whose bins they draw

    @property
    def drawn(self) -> BinnedError:
        """The printed error, with its bins."""
        return self.ece if self.error == "ece" else self.ace


@dataclass(frozen=True, slots=True)
class Calibration(Curves):
    """Calibration curves. Columns: metric (ace, ece, smooth_ece) with its value and interval, then a row a bin.

    `lower` and `upper` are the bin's edges, `count` its instances, `confidence` their mean, `low` and `high` the
    interval of `accuracy`, `band_low` and `band_high` the intervals that hold for all bins at once. A row of smooth_ece
    is a point of its curve, with `density` for a count. Rows of the metric `histogram` have no value: they count the
    instances in 20 bins of equal width. Where questions have several instances, a last column `questions` counts the
    different ones of a bin.
    """

    kind = "calibration"
    COLUMNS = (
        *(*LEAD, "metric", "value", "value_low", "value_high"),
        *("lower", "upper", "count", "density", "confidence", "accuracy", "low", "high", "band_low", "band_high"),
    )

    lines: tuple[CalibrationLine, ...]
    of: str = "facts"  # what an instance is, in the plural

    def frame(self) -> pd.DataFrame:
        """See `Curves.frame`."""
        repeated = any(line.questions is not None for line in self.lines)
        return tidy(self._parts(), (*self.COLUMNS, "questions") if repeated else self.COLUMNS)

    @property
    def said(self) -> str:
        """How many instances are of how many questions, where some question has several; else nothing."""
        if all(line.questions is None for line in self.lines):
            return ""
        rows = _range([line.instances for line in self.lines])
        questions = [line.instances if line.questions is None else line.questions for line in self.lines]
        return f"{rows} {self.of} to {_range(questions)} questions"

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


def _range(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,}-{high:,}"


METRICS = ("ace", "ece", "smooth_ece")
_Grouped = tuple[Floats, npt.NDArray[np.bool_], Ints]  # confidence, correctness and question of each instance
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
        calibration_line(
            lead_of(run, estimator), predictions(confidences)[estimator.name], values[estimator.name], ace_bins
        )
        for estimator in estimators
    ]


def calibration_line(
    lead: tuple[str, str, str, tuple[int, ...]],
    sample: Predictions,
    values: Mapping[str, Estimate],
    ace_bins: int | None,
    questions: npt.ArrayLike | None = None,
) -> CalibrationLine:
    """The line of some confidences and their correctness, around the values that are known of its METRICS.

    `questions` names the question of each instance, of replies. Where some have several, intervals of bins allow for
    it. Confidences in replies that have few values are drawn on the bins of ECE.
    """
    confidence, correct = (np.asarray(array) for array in sample)
    number, grouped = None, None
    if questions is not None:
        names, places = np.unique(np.asarray(questions), return_inverse=True)
        if len(names) < len(confidence):
            number, grouped = len(names), (confidence, correct, places.astype(np.int64))
    return CalibrationLine(
        *lead,
        instances=len(confidence),
        ace=_binned(ace(confidence, correct, ace_bins), values["ace"], grouped),
        ece=_binned(ece(confidence, correct), values["ece"], grouped),
        smooth=_smooth(confidence, correct, values["smooth_ece"]),
        histogram=_bins(ece(confidence, correct, HISTOGRAM_BINS)).count,
        questions=number,
        error=error_shown(few_values=questions is not None and has_few_values(confidence, ace_bins)),
    )


def _bins(result: MetricResult) -> Bins:
    assert result.bins is not None, "binned metrics have bins"
    return result.bins


def _binned(result: MetricResult, value: Estimate, grouped: _Grouped | None) -> BinnedError:
    bins = _bins(result)
    right = np.where(bins.count > 0, np.rint(bins.accuracy * bins.count), 0)
    together = simultaneous_normal(int((bins.count > 0).sum()))
    trials, questions = bins.count.astype(np.float64), None
    if grouped is not None:
        effect, questions = _by_question(bins, *grouped)
        right, trials = right / effect, trials / effect
    pointwise, joint = wilson_interval(right, trials), wilson_interval(right, trials, together)
    return BinnedError(value, bins, *pointwise, *joint, questions)


def _by_question(
    bins: Bins, confidence: Floats, correct: npt.NDArray[np.bool_], questions: Ints
) -> tuple[Floats, Ints]:
    """The design effect of each bin, and how many questions are in it."""
    place = np.searchsorted(bins.edges[1:-1], confidence, side="left")  # as `bin_sample`: on an edge is below it
    masks = [place == at for at in range(len(bins.count))]
    effect = np.array([design_effect(correct[mask], questions[mask]) for mask in masks])
    return effect, np.array([len(np.unique(questions[mask])) for mask in masks])


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
    chosen = [estimator for estimator in found.chosen if estimator.scale == "probability"]
    lines = calibration_lines(found.run, chosen, found.values, found.options.ace_bins)
    return Calibration(tuple(lines)) if lines else None
