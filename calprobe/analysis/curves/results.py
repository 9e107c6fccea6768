"""What curves say, as plain frozen data: drawn by `plots`, written by `calprobe curve`, never computed anew.

Arrays of a line are [points], in the order they are drawn. `low` and `high` are the ends of 95 % intervals; NaN where
no resamples were asked for, or the value itself is undefined (NaN). Every kind has two other forms: `frame()`, a tidy
table whose columns are those of the class's `COLUMNS`, and `to_json()`, where NaN is None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calprobe.analysis.curves.forms import Columns, estimate_columns, plain, tidy
from calprobe.analysis.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.metrics import Bins, Difference, Estimate, RejectionCurve
from calprobe.types import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

LEAD = ("run", "model", "estimator")  # the columns that every table begins with


@dataclass(frozen=True, slots=True)
class CurveOptions:
    """How to read the scores and whose confidences to draw."""

    scores: ReportOptions = DEFAULT_OPTIONS
    estimators: tuple[str, ...] | None = None  # by the names of `report`; None: the paper's, as far as a run has them


DEFAULT_CURVE_OPTIONS = CurveOptions()


@dataclass(frozen=True, slots=True)
class Line:
    """Whose line, or point, it is."""

    run: str  # the run as typed
    model: str
    estimator: str
    templates: tuple[int, ...]  # numbers of those that the estimator reads

    @property
    def lead(self) -> dict[str, Any]:
        """The columns that every table begins with."""
        return {"run": self.run, "model": self.model, "estimator": self.estimator}


@dataclass(frozen=True, slots=True)
class Band:
    """A curve on a grid with its 95 % band."""

    x: Floats  # [points]
    y: Floats  # [points]
    low: Floats  # [points]
    high: Floats  # [points]


@dataclass(frozen=True, slots=True)
class Curves:
    """Any of the six kinds."""

    kind: ClassVar[str]  # as `calprobe curve --kind` has it
    COLUMNS: ClassVar[tuple[str, ...]]  # of `frame`

    def frame(self) -> pd.DataFrame:
        """The tidy table that `calprobe curve` writes: a row a point, with the columns COLUMNS. NaN where undefined."""
        return tidy(self._parts(), self.COLUMNS)

    def to_json(self) -> dict[str, Any]:
        """The fields by their names, and the kind, as JSON can hold them: NaN is None."""
        return {"kind": self.kind, **plain(self)}

    def _parts(self) -> Iterable[Columns]:
        """The blocks of rows that the table is made of."""
        raise NotImplementedError


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

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            yield {**line.lead, "metric": "ace", **line.ace.columns()}
            yield {**line.lead, "metric": "ece", **line.ece.columns()}
            smooth = line.smooth
            points = {"confidence": smooth.confidence, "accuracy": smooth.accuracy, "density": smooth.density}
            yield {**line.lead, "metric": "smooth_ece", **estimate_columns("value", smooth.value), **points}


@dataclass(frozen=True, slots=True)
class OptionNumbers:
    """Numbers for each count of answer options, means over seeds or one draw."""

    accuracy: Floats  # [counts]
    mean_confidence: Floats  # [counts]
    ace: Floats  # [counts]


@dataclass(frozen=True, slots=True)
class OptionsLine(Line):
    """How one estimator changes with the number of answer options: the right one and others drawn at random."""

    relations: tuple[str, ...]  # those with enough candidates for every count, sorted
    instances: int  # of them
    options: Ints  # [counts], ascending
    seeds: tuple[int, ...]
    means: OptionNumbers  # over the seeds
    draws: tuple[OptionNumbers, ...]  # one for each seed


@dataclass(frozen=True, slots=True)
class Options(Curves):
    """Answer-option curves. Columns: seed (NaN: the mean over the seeds), options, accuracy, mean_confidence, ace."""

    kind = "options"
    COLUMNS = (*LEAD, "seed", "options", "accuracy", "mean_confidence", "ace")

    lines: tuple[OptionsLine, ...]

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            numbers = zip((float("nan"), *map(float, line.seeds)), (line.means, *line.draws), strict=True)
            for seed, found in numbers:
                columns = {name: getattr(found, name) for name in ("accuracy", "mean_confidence", "ace")}
                yield {**line.lead, "seed": seed, "options": line.options, **columns}


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


@dataclass(frozen=True, slots=True)
class MarkerPoint(Line):
    """Base under one wording: the plain statement, or one with an epistemic marker."""

    marker: str  # plain, possibly, certainly, 0, 25, 50, 75, 100 (percentages)
    percentage: float  # that a numeric marker names; NaN for the others
    accuracy: Estimate
    mean_confidence: Estimate
    ace: Estimate
    shift: Difference | None  # of mean confidence: this wording less the plain one, on the same instances; None: plain


@dataclass(frozen=True, slots=True)
class Markers(Curves):
    """What an epistemic marker does to confidence. Columns: marker, percentage, then numbers and shift with p-value."""

    kind = "markers"
    COLUMNS = (
        *(*LEAD, "marker", "percentage", "accuracy", "accuracy_low", "accuracy_high"),
        *("mean_confidence", "mean_confidence_low", "mean_confidence_high", "ace", "ace_low", "ace_high"),
        *("shift", "shift_low", "shift_high", "shift_p"),
    )

    points: tuple[MarkerPoint, ...]  # run by run: plain, verbal markers, percentages ascending

    def _parts(self) -> Iterable[Columns]:
        for point in self.points:
            columns = {**point.lead, "marker": point.marker, "percentage": point.percentage}
            for name in ("accuracy", "mean_confidence", "ace"):
                columns |= estimate_columns(name, getattr(point, name))
            if (shift := point.shift) is not None:
                columns |= estimate_columns("shift", Estimate(shift.value, shift.low, shift.high))
                columns["shift_p"] = shift.p_value
            yield columns


@dataclass(frozen=True, slots=True)
class ExposureLine(Line):
    """Accuracy and mean confidence of facts by the number of times that the model was told them.

    A point takes the facts told `least` to `most` times: 0, 1, 2, 3 to 4, 5 to 8 and so on, as far as there are any.
    """

    told: Floats  # [points], mean number of times; ascending
    least: Ints  # [points]
    most: Ints  # [points]
    instances: Ints  # [points], facts told so often
    accuracy: tuple[Estimate, ...]  # [points]
    mean_confidence: tuple[Estimate, ...]  # [points]


@dataclass(frozen=True, slots=True)
class Exposure(Curves):
    """Accuracy and confidence by how often a fact was told. Columns: told, least, most, instances, then numbers."""

    kind = "exposure"
    COLUMNS = (
        *(*LEAD, "told", "least", "most", "instances", "accuracy", "accuracy_low", "accuracy_high"),
        *("mean_confidence", "mean_confidence_low", "mean_confidence_high"),
    )

    lines: tuple[ExposureLine, ...]

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            counts = ("told", "least", "most", "instances")
            places = zip(*(getattr(line, name).tolist() for name in counts), strict=True)
            for place, accuracy, confidence in zip(places, line.accuracy, line.mean_confidence, strict=True):
                numbers = estimate_columns("accuracy", accuracy) | estimate_columns("mean_confidence", confidence)
                yield {**line.lead, **dict(zip(counts, place, strict=True)), **numbers}
