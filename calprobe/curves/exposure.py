"""Exposure curves: accuracy and confidence by the number of times that a fact is in a model's training data."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calprobe.arrays import Floats, Ints
from calprobe.cells.cell import Units
from calprobe.cells.opening import Runs
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import Confidence, Estimator
from calprobe.curves.curve import (
    DEFAULT_CURVE_OPTIONS,
    LEAD,
    Columns,
    CurveOptions,
    Curves,
    Line,
    estimate_columns,
)
from calprobe.curves.inputs import (
    ExposureCounts,
    Reported,
    chosen_estimators,
    lead_of,
    metrics_named,
    read_runs,
)
from calprobe.errors import UsageError
from calprobe.measures.number_text import spelled
from calprobe.messages import counted
from calprobe.metrics import Estimate, bootstrap, wilson_interval
from calprobe.show import marks
from calprobe.show.marks import Panel, Points, Scale, Series
from calprobe.show.plots import frame, paper
from calprobe.show.plots.groups import run_rows
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.names import run_names

if TYPE_CHECKING:
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
    lookups = ((exposures.get(name, ()), at) for name, at in places)
    counts = [of_relation[at] if at < len(of_relation) else None for of_relation, at in lookups]
    if None in counts:
        at = counts.index(None)
        fact = f"{instances.group[at]}, instance {instances.id[at]}"
        raise UsageError(f"{label}: no exposure count for {fact}; name a run of facts with counts (tiny-clm, tiny-mlm)")
    array = np.array(counts, dtype=np.int64)
    if (array < 0).any():
        raise ValueError(f"exposures must not be negative; got {array.min()}")
    return array


def exposure_ranges(counts: Ints) -> Ints:
    """The range of each number of times: 0 for 0, 1 for 1, 2 for 2, 3 for 3 to 4, 4 for 5 to 8, doubling; same shape.

    >>> exposure_ranges(np.array([0, 1, 2, 3, 4, 5, 8, 9, 64])).tolist()
    [0, 1, 2, 3, 3, 4, 4, 5, 7]
    """
    return np.array([0 if count == 0 else (count - 1).bit_length() + 1 for count in counts.tolist()], dtype=np.int64)


def _line(
    run: ScoredRun, estimator: Estimator, confidence: Confidence, counts: Ints, options: CurveOptions
) -> ExposureLine:
    ranges = exposure_ranges(counts)
    masks = [ranges == code for code in np.unique(ranges)]
    numbers = [_numbers(run, confidence, mask, options) for mask in masks]
    return ExposureLine(
        *lead_of(run, estimator),
        told=np.array([counts[mask].mean() for mask in masks], dtype=np.float64),
        least=np.array([counts[mask].min() for mask in masks], dtype=np.int64),
        most=np.array([counts[mask].max() for mask in masks], dtype=np.int64),
        instances=np.array([mask.sum() for mask in masks], dtype=np.int64),
        accuracy=tuple(accuracy for accuracy, _ in numbers),
        mean_confidence=tuple(confidence for _, confidence in numbers),
    )


def _numbers(
    run: ScoredRun, confidence: Confidence, mask: np.ndarray, options: CurveOptions
) -> tuple[Estimate, Estimate]:
    """Accuracy and mean confidence of the instances kept."""
    values = bootstrap(
        metrics_named(("accuracy", "mean_confidence"), options.scores),
        confidence.confidence[mask],
        confidence.correct[mask],
        options.scores.resampling,
        None if run.clusters is None else run.clusters[mask],
    )
    accuracy = values["accuracy"]
    if run.clusters is None:  # where all of a few are right, every resample says so
        low, high = wilson_interval([confidence.correct[mask].sum()], [mask.sum()])
        accuracy = Estimate(accuracy.value, float(low[0]), float(high[0]))
    return accuracy, values["mean_confidence"]


def reported_exposure(found: Reported) -> Exposure | None:
    """The line of base of a run of a report; None where no counts are known."""
    if not found.exposures:
        return None
    return Exposure(tuple(exposure_lines(found.run, found.exposures, CurveOptions(found.options))))


NUMBERS = "accuracy", "mean confidence"
APART = 0.2  # between the intervals of the two, of which a doubling is 1
PLACES = 4, 0  # of accuracy and mean confidence, in the palette
SIZES = frame.PairSizes(2.0, 2.6)


def composed(line: ExposureLine, heading: str = "") -> Panel:
    """Accuracy and mean confidence above, the number of facts below."""
    x = tuple(_along(told) for told in line.told.tolist())
    times = [_range(*ends) for ends in zip(line.least.tolist(), line.most.tolist(), strict=True)]
    ends = -0.8, _along(1.4 * float(line.told.max(initial=1.0)))
    across = Scale("times in the training data", ends=ends, ticks=tuple(zip(x, times, strict=True)))
    facts = tuple(float(n) for count in line.instances.tolist() for n in (0, count, math.nan))
    stems = marks.Line(tuple(at for at in x for _ in range(3)), facts, "stem")
    series = []
    for at, (name, estimates) in enumerate(zip(NUMBERS, (line.accuracy, line.mean_confidence), strict=True)):
        tips = tuple(
            f"{count} {'time' if count == '1' else 'times'} in training: {name} {spelled(estimate)}\n"
            f"{counted(n, 'fact')}"
            for count, estimate, n in zip(times, estimates, line.instances.tolist(), strict=True)
        )
        shifted = tuple(told + marks.beside(at, 2, APART) for told in x)
        series.append(Series(name, PLACES[at], (Points(shifted, estimates, tips, joined=True),)))
    strip = Panel("", across, Scale("facts", "zero"), marks=(stems,))
    upward = Scale("share of facts", "share")
    label = "Accuracy and mean confidence by the number of times that a fact was in the training data."
    return Panel(line.estimator, across, upward, tuple(series), heading=heading, strip=strip, label=label)


def _along(times: float) -> float:
    """Where a number of times stands: 0 has its place, and from 1 on equal steps double.

    >>> [_along(times) for times in (0, 1, 2, 4)]
    [0, 2, 3.0, 4.0]
    """
    return 2 * times if times <= 1 else 2 + math.log2(times)


def draw_exposure(result: Exposure, look: Look = DEFAULT_LOOK) -> Figure:
    """A row for each run, a panel for each estimator."""
    rows, names = run_rows(result.lines), run_names(result.lines, look)
    headed = len(rows) > 1
    blocks = [
        [composed(line, names[run] if headed and not at else "") for at, line in enumerate(row)]
        for run, row in rows.items()
    ]
    return paper.draw_strips(blocks, look, SIZES, names[result.lines[0].run] if len(rows) == 1 else "")


def _range(least: int, most: int) -> str:
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"
