"""calprobe beside the plain reimplementation: first the difference, and only then the ratio."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from calprobe.confidence import Confidence, Distributions, available_estimators
from calprobe.metrics import ACE_BINS, Estimate, Resampling, bootstrap, standard_metrics
from calprobe.metrics.resamples import resample_counts
from calprobe.runs import ScoreTable
from growth.measure import ENOUGH_S, MOST_RUNS, Size
from growth.plain import plain_bootstrap, plain_confidences
from growth.tables import random_table

T = TypeVar("T")

MAX_DIFFERENCE = 1e-12


def against_plain(size: Size) -> list[dict[str, Any]]:
    """A row for the estimators, one for the bootstrap."""
    table = random_table(size.instances, size.templates)
    return [beside_estimators(table), beside_bootstrap(table, Resampling(size.resamples))]


def beside_estimators(table: ScoreTable) -> dict[str, Any]:
    """The confidences of all estimators that the plain side has, both from the scores."""
    plain, plain_s = timed(lambda: plain_confidences(table))
    chosen = [estimator for estimator in available_estimators(table.templates) if estimator.name in plain]

    def ours() -> dict[str, Confidence]:
        distributions = Distributions.from_table(table)
        return {estimator.name: estimator(distributions) for estimator in chosen}

    found, ours_s = timed(ours)
    what = f"{len(chosen)} estimators, {len(table.templates)} templates"
    return row(what, table, (ours_s, plain_s), distance(found, plain))


def distance(found: Mapping[str, Confidence], plain: Mapping[str, pd.DataFrame]) -> float:
    """Largest difference of two confidences; NaN where a prediction or an estimator differs."""
    if found.keys() != plain.keys():
        return float("nan")
    largest = 0.0
    for name, ours in found.items():
        theirs = plain[name].sort_index()
        if not np.array_equal(ours.prediction, theirs.prediction):
            return float("nan")
        largest = max(largest, float(np.abs(ours.confidence - theirs.confidence).max()))
    return largest


def beside_bootstrap(table: ScoreTable, resampling: Resampling) -> dict[str, Any]:
    """Intervals of accuracy, Brier score and ACE of base; the plain side draws no correctness for ACE's lower end."""
    (base,) = (estimator for estimator in available_estimators(table.templates) if estimator.name == "base")
    found = base(Distributions.from_table(table))
    metrics = [metric for metric in standard_metrics() if metric.name in ("accuracy", "brier", "ace")]
    counts = np.concatenate(list(resample_counts(table.n_instances, resampling)))
    correct = found.correct.astype(np.int64)
    resampled, plain_s = timed(lambda: plain_bootstrap(found.confidence, correct, counts, ACE_BINS))
    ours, ours_s = timed(lambda: bootstrap(metrics, found.confidence, correct, resampling))
    what = f"intervals of accuracy, Brier, ACE; {resampling.n_resamples} resamples"
    return row(what, table, (ours_s, plain_s), interval_distance(ours, resampled))


def interval_distance(found: Mapping[str, Estimate], resampled: pd.DataFrame) -> float:
    """Largest difference of two ends of intervals; of ACE the upper end, which is shifted by the bias."""
    ends = resampled.quantile([0.025, 0.975])
    differences = [abs(found[name].low - ends[name].iloc[0]) for name in ("accuracy", "brier")]
    differences += [abs(found[name].high - ends[name].iloc[1]) for name in ("accuracy", "brier")]
    ace = found["ace"]
    high = max(ends["ace"].iloc[1] - (resampled["ace"].mean() - ace.value), ace.value)
    return float(max(*differences, abs(ace.high - high)))


def row(what: str, table: ScoreTable, seconds: tuple[float, float], largest: float) -> dict[str, Any]:
    """Processor seconds of ours and of the plain side; a ratio if they agree, else a note."""
    ours_s, plain_s = seconds
    found: dict[str, Any] = {"what": what, "instances": table.n_instances, "processor_s": round(ours_s, 7)}
    found |= {"plain_processor_s": round(plain_s, 7)}
    if not largest <= MAX_DIFFERENCE:
        return found | {"largest_difference": None, "note": f"results differ by {largest:.1e}: no ratio"}
    return found | {"largest_difference": largest, "times_as_fast": round(plain_s / ours_s, 1), "note": None}


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """The result, and the processor seconds of the run that took the least."""
    result = work()
    seconds: list[float] = []
    while len(seconds) < MOST_RUNS and sum(seconds) < ENOUGH_S:
        started = time.process_time()
        work()
        seconds.append(time.process_time() - started)
    return result, min(seconds)
