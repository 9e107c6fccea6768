"""Exposure curves: accuracy and confidence by the number of times that a fact is in a model's training data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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
    ExposureCounts,
    Reported,
    chosen_estimators,
    lead_of,
    metrics_named,
    read_runs,
)
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import run_rows
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.names import run_names
from calprobe.analysis.plots.style import FAINT, SeriesStyle, style_at
from calprobe.arrays import Floats, Ints
from calprobe.cells.cell import Units
from calprobe.cells.opening import Runs
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import Confidence, Estimator
from calprobe.errors import UsageError
from calprobe.metrics import Estimate, bootstrap, wilson_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class ExposureLine(Line):
    """Accuracy and mean confidence of facts by their number of times in the training data.

    A point takes the facts that are there `least` to `most` times: 0, 1, 2, 3 to 4, 5 to 8 and so on.
    """

    told: Floats  # [points], mean number of times, in data files under this name; ascending
    least: Ints  # [points]
    most: Ints  # [points]
    instances: Ints  # [points], number of facts
    accuracy: tuple[Estimate, ...]  # [points]
    mean_confidence: tuple[Estimate, ...]  # [points]


@dataclass(frozen=True, slots=True)
class Exposure(Curves):
    """Accuracy and confidence by how often a fact is in the training data.

    Columns: told, least, most, instances, then numbers.
    """

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


def exposure(runs: Runs, exposures: ExposureCounts, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Exposure:
    """Accuracy and mean confidence of facts that training states never, once, twice, 3 to 4, 5 to 8 times, ..

    The interval of accuracy is Wilson's, unless complete relations are drawn; all others are bootstrap intervals.

    Args:
        runs: run folders, open or by path; one or several, all of models trained on the facts so often.
        exposures: by the name of a relation, how often each of its instances (by line number) is in the training data,
            such as the result of `calprobe.models.exposures.exposure_counts`.
        options: reduction, compat, bootstrap; estimators, by default base.
    Returns:
        A line for each run and estimator; without points where there are no instances.
    Raises:
        UsageError: an instance of a run has no number, or an estimator that a run does not have; no run, or one named
            twice. ValueError: a number below 0. DataMissingError, CalprobeError: as `report`.
    """
    lines: list[ExposureLine] = []
    for run in read_runs(runs, options.scores):
        lines += exposure_lines(run, exposures, options)
    return Exposure(tuple(lines))


def exposure_lines(run: ScoredRun, exposures: ExposureCounts, options: CurveOptions) -> list[ExposureLine]:
    """A line for each estimator of one run. Raises as `exposure`."""
    counts = counts_of(run.label, run.instances, exposures)
    chosen = chosen_estimators(run, options, ("base",))
    confidences = run.confidences([estimator.name for estimator in chosen])
    return [_line(run, estimator, confidences[estimator.name], counts, options) for estimator in chosen]


def counts_of(label: str, instances: Units, exposures: ExposureCounts) -> Ints:
    """How often each instance of the run is in the training data, [instances]. Raises as `exposure`."""
    places = zip(instances.group.tolist(), instances.id.tolist(), strict=True)
    known = ((exposures.get(name, ()), at) for name, at in places)
    counts = [own[at] if at < len(own) else None for own, at in known]
    if None in counts:
        at = counts.index(None)
        fact = f"{instances.group[at]}, instance {instances.id[at]}"
        raise UsageError(f"{label}: no exposure count for {fact}; name a run of facts with counts (tiny-clm, tiny-mlm)")
    found = np.array(counts, dtype=np.int64)
    if (found < 0).any():
        raise ValueError(f"exposures must not be negative; got {found.min()}")
    return found


def exposure_ranges(counts: Ints) -> Ints:
    """The range of each number of times: 0 for 0, 1 for 1, 2 for 2, 3 for 3 to 4, 4 for 5 to 8, doubling; same shape.

    >>> exposure_ranges(np.array([0, 1, 2, 3, 4, 5, 8, 9, 64])).tolist()
    [0, 1, 2, 3, 3, 4, 4, 5, 7]
    """
    return np.array([0 if count == 0 else (count - 1).bit_length() + 1 for count in counts.tolist()], dtype=np.int64)


def _line(run: ScoredRun, estimator: Estimator, found: Confidence, counts: Ints, options: CurveOptions) -> ExposureLine:
    ranges = exposure_ranges(counts)
    inside = [ranges == which for which in np.unique(ranges)]
    numbers = [_numbers(run, found, kept, options) for kept in inside]
    return ExposureLine(
        *lead_of(run, estimator),
        told=np.array([counts[kept].mean() for kept in inside], dtype=np.float64),
        least=np.array([counts[kept].min() for kept in inside], dtype=np.int64),
        most=np.array([counts[kept].max() for kept in inside], dtype=np.int64),
        instances=np.array([kept.sum() for kept in inside], dtype=np.int64),
        accuracy=tuple(accuracy for accuracy, _ in numbers),
        mean_confidence=tuple(confidence for _, confidence in numbers),
    )


def _numbers(run: ScoredRun, found: Confidence, kept: np.ndarray, options: CurveOptions) -> tuple[Estimate, Estimate]:
    """Accuracy and mean confidence of the instances kept."""
    values = bootstrap(
        metrics_named(("accuracy", "mean_confidence"), options.scores),
        found.confidence[kept],
        found.correct[kept],
        options.scores.resampling,
        None if run.clusters is None else run.clusters[kept],
    )
    accuracy = values["accuracy"]
    if run.clusters is None:  # where all of a few are right, every resample says so
        low, high = wilson_interval([found.correct[kept].sum()], [kept.sum()])
        accuracy = Estimate(accuracy.value, float(low[0]), float(high[0]))
    return accuracy, values["mean_confidence"]


def reported_exposure(found: Reported) -> Exposure | None:
    """The line of base of a run of a report; None where no counts are known."""
    if not found.exposures:
        return None
    return Exposure(tuple(exposure_lines(found.run, found.exposures, CurveOptions(found.options))))


_ACCURACY, _CONFIDENCE = style_at(0), style_at(1)
_SIZES = frame.PairSizes(2.0, 2.6)


def draw_exposure(result: Exposure, look: Look = DEFAULT_LOOK) -> Figure:
    """A row for each run, a panel for each estimator: accuracy and mean confidence above, the number of facts below."""
    rows, names = run_rows(result.lines), run_names(result.lines, look)
    figure, blocks = frame.panel_pairs([len(row) for row in rows.values()], look, _SIZES)
    for block, (run, row) in zip(blocks, rows.items(), strict=False):
        for at, (pair, series) in enumerate(zip(block, row, strict=True)):
            line = series.line
            _draw_numbers(pair.curve, line.told, line.accuracy, _ACCURACY)
            _draw_numbers(pair.curve, line.told, line.mean_confidence, _CONFIDENCE)
            _draw_counts(pair.counts, line)
            heading = names[run] if at == 0 and len(rows) > 1 else ""
            first_row = len(rows) > 1 and not any(other.left for other in block[1 : at + 1])
            frame.title_panel(pair.curve, series.name, heading=heading, room=first_row)
            frame.share_axis(pair.curve, "y")
    for pair in (pair for block in blocks for pair in block):
        if pair.left:
            pair.curve.set_ylabel("Share of facts")
            pair.counts.set_ylabel("Facts")
        if pair.lowest:
            pair.counts.set_xlabel("Times in the training data")
    styles = {"accuracy": _ACCURACY, "mean confidence": _CONFIDENCE}
    samples = {name: frame.sample(**style.points()) for name, style in styles.items()}
    frame.finish(figure, look, samples, next(iter(names.values())) if len(rows) == 1 else "")
    return figure


def _draw_numbers(axes: Axes, counts: Floats, found: Sequence[Estimate], style: SeriesStyle) -> None:
    axes.vlines(counts, [own.low for own in found], [own.high for own in found], color=style.color, linewidth=0.7)
    axes.plot(counts, [own.value for own in found], **style.points())


def _draw_counts(axes: Axes, line: ExposureLine) -> None:
    axes.vlines(line.told, 0, line.instances, color=FAINT, linewidth=2.5)
    axes.set_ylim(bottom=0)
    axes.set_xscale("symlog", base=2, linthresh=1)  # 0 has its place, and from 1 on equal steps double
    axes.set_xticks(line.told, [_range(*ends) for ends in zip(line.least, line.most, strict=True)])
    axes.minorticks_off()
    axes.set_xlim(-0.4, max(line.told, default=1.0) * 1.4)


def _range(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least}–{most}"
