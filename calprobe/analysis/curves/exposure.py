"""Exposure curves: accuracy and confidence by the number of times that a model was told a fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calprobe.analysis.curves.results import DEFAULT_CURVE_OPTIONS, CurveOptions, Exposure, ExposureLine
from calprobe.analysis.curves.scored import chosen_estimators, lead_of, metrics_named, read_runs
from calprobe.analysis.scored_run import Instances, RunLike, ScoredRun
from calprobe.confidence import Confidence, Estimator
from calprobe.errors import UsageError
from calprobe.metrics import Estimate, bootstrap, wilson_interval
from calprobe.types import Ints

Told = Mapping[str, Sequence[int]]


def exposure(runs: RunLike | Sequence[RunLike], told: Told, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Exposure:
    """Accuracy and mean confidence of the facts told never, once, twice, 3 to 4 times, 5 to 8 times and so on.

    The interval of accuracy is Wilson's, unless relations are drawn as a whole; all others are bootstrap intervals.

    Args:
        runs: run folders, open or by path; one or several, all of models that were told the facts so often.
        told: by the name of a relation, for each of its instances (by line number) how often the fact was told, such as
            the result of `calprobe.models.exposures.exposure_counts`.
        options: reduction, compat, bootstrap; estimators, by default base.
    Returns:
        A line for each run and estimator; without points where there are no instances.
    Raises:
        UsageError: an instance of a run has no number, or an estimator that a run does not have; no run, or one named
            twice. ValueError: a number below 0. DataMissingError, CalprobeError: as `report`.
    """
    lines: list[ExposureLine] = []
    for run in read_runs(runs, options.scores):
        lines += exposure_lines(run, told, options)
    return Exposure(tuple(lines))


def exposure_lines(run: ScoredRun, told: Told, options: CurveOptions) -> list[ExposureLine]:
    """A line for each estimator of one run. Raises as `exposure`."""
    counts = told_of(run.label, run.instances, told)
    chosen = chosen_estimators(run, options, ("base",))
    confidences = run.confidences([estimator.name for estimator in chosen])
    return [_line(run, estimator, confidences[estimator.name], counts, options) for estimator in chosen]


def told_of(label: str, instances: Instances, told: Told) -> Ints:
    """How often each instance of the run was told, [instances]. Raises as `exposure`."""
    places = zip(instances.relation.tolist(), instances.instance.tolist(), strict=True)
    counts = [told[name][at] if name in told and at < len(told[name]) else None for name, at in places]
    if None in counts:
        at = counts.index(None)
        fact = f"{instances.relation[at]}, instance {instances.instance[at]}"
        raise UsageError(f"{label}: nothing says how often the model was told {fact}; name a run of the counted facts")
    found = np.array(counts, dtype=np.int64)
    if (found < 0).any():
        raise ValueError(f"told must not be negative; got {found.min()}")
    return found


def exposure_ranges(told: Ints) -> Ints:
    """The range of each number of times: 0 for 0, 1 for 1, 2 for 2, 3 for 3 to 4, 4 for 5 to 8, doubling; same shape.

    >>> exposure_ranges(np.array([0, 1, 2, 3, 4, 5, 8, 9, 64])).tolist()
    [0, 1, 2, 3, 3, 4, 4, 5, 7]
    """
    return np.array([0 if count == 0 else (count - 1).bit_length() + 1 for count in told.tolist()], dtype=np.int64)


def _line(run: ScoredRun, estimator: Estimator, found: Confidence, told: Ints, options: CurveOptions) -> ExposureLine:
    ranges = exposure_ranges(told)
    inside = [ranges == which for which in np.unique(ranges)]
    numbers = [_numbers(run, found, kept, options) for kept in inside]
    return ExposureLine(
        *lead_of(run, estimator),
        told=np.array([told[kept].mean() for kept in inside], dtype=np.float64),
        least=np.array([told[kept].min() for kept in inside], dtype=np.int64),
        most=np.array([told[kept].max() for kept in inside], dtype=np.int64),
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
