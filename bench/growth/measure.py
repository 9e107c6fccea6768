"""Time and memory of the estimators and of the bootstrap on one random table, in this process."""

from __future__ import annotations

import resource
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from calprobe.confidence import Confidence, Distributions, available_estimators, estimate
from calprobe.metrics import (
    Resampling,
    bootstrap,
    bootstrap_many,
    bootstrap_multiclass,
    multiclass_metrics,
    standard_metrics,
)
from calprobe.runs import ScoreTable
from growth.tables import random_table

MOST_RUNS = 5
ENOUGH_S = 3.0  # of runs: what takes longer is measured once
# The paper's Table 1: metrics, and the estimators of which it shows them.
TABLE_1 = (
    (("ace", "brier"), ("base", "margin", "average_vote_2", "average_min")),
    (("brier",), ("consistency_vote_2", "consistency_min")),
)


@dataclass(frozen=True, slots=True)
class Size:
    """One point of the growth."""

    instances: int
    templates: int = 12  # the first of the paper's twelve: five paraphrases, then seven epistemic forms
    resamples: int = 1000

    @classmethod
    def read(cls, text: str) -> Size:
        """From INSTANCES[:TEMPLATES[:RESAMPLES]]; ValueError or TypeError for what is none."""
        return cls(*(int(part) for part in text.split(":")))


@dataclass(frozen=True, slots=True)
class Figure:
    """What one thing costs."""

    what: str
    seconds: float  # of the fastest run
    processor_s: float  # of the run that took the least, all threads together
    peak_mib: float  # most that it had allocated at one time, beyond what it was given
    runs: int


def measure(size: Size) -> dict[str, Any]:
    """Every figure of one size."""
    table = random_table(size.instances, size.templates)
    figures = [*estimator_figures(table), *bootstrap_figures(estimate(table), table, Resampling(size.resamples))]
    return asdict(size) | {
        "candidates": int(table.offsets[-1]),
        "scores_mib": round(table.scores.nbytes / 2**20, 1),
        "resident_peak_mib": round(resident_peak_mib(), 1),
        "figures": [asdict(figure) for figure in figures],
    }


def estimator_figures(table: ScoreTable) -> Iterator[Figure]:
    """The distributions that all share, each estimator on them, and everything together."""

    def shared() -> Distributions:
        distributions = Distributions.from_table(table)
        _ = distributions.peaks
        return distributions

    yield figure("distributions and heads", shared)
    distributions = shared()
    for estimator in available_estimators(table.templates):
        yield figure(estimator.name, partial(estimator, distributions))
    yield figure("all estimators", lambda: estimate(table))


def bootstrap_figures(found: dict[str, Confidence], table: ScoreTable, resampling: Resampling) -> Iterator[Figure]:
    """Table 1 with its intervals, and all metrics of base."""
    samples = {name: (estimated.confidence, estimated.correct) for name, estimated in found.items()}
    metrics = {metric.name: metric for metric in standard_metrics()}
    probabilities = found["base"].probabilities
    assert probabilities is not None, "base has its distribution"
    sample = {"base": probabilities}, table.offsets, table.answer_idx

    def table_1() -> None:
        for names, estimators in TABLE_1:
            bootstrap_many([metrics[name] for name in names], {name: samples[name] for name in estimators}, resampling)

    yield figure("Table 1 with intervals", table_1)
    of_base = partial(bootstrap, metrics.values(), *samples["base"], resampling)
    yield figure("all metrics of base with intervals", of_base)
    of_distribution = partial(bootstrap_multiclass, multiclass_metrics(), *sample, resampling)
    yield figure("multi-class metrics of base with intervals", of_distribution)


def figure(what: str, work: Callable[[], object]) -> Figure:
    """Run it once for its memory, then a few times for its time."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    seconds: list[float] = []
    processor: list[float] = []
    while len(seconds) < MOST_RUNS and sum(seconds) < ENOUGH_S:
        started, busy = time.perf_counter(), time.process_time()
        work()
        seconds.append(time.perf_counter() - started)
        processor.append(time.process_time() - busy)
    return Figure(what, round(min(seconds), 7), round(min(processor), 7), round(peak / 2**20, 1), len(seconds))


def resident_peak_mib() -> float:
    """Largest resident set of this process so far."""
    status = Path("/proc/self/status")
    if status.is_file():  # what getrusage says there can be the parent's
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
