"""Means of a report's numbers over runs: over all models, over those of one kind, and over those of one family."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from calprobe.cells.run_facts import RunFacts
from calprobe.measures.model_families import family_of
from calprobe.metrics import Estimate
from calprobe.studies.scored.reductions import ReductionNumbers, ReductionsReport
from calprobe.studies.scored.results import Report, RunReport

FEWEST_RUNS = 3  # of two, the rows say all
KINDS = ("causal", "masked")


class HasFacts(Protocol):
    """A run of a report."""

    @property
    def facts(self) -> RunFacts:
        """What was scored."""


AnyRun = TypeVar("AnyRun", bound=HasFacts)


@dataclass(frozen=True, slots=True)
class Average:
    """Means over some runs. A number that one of them lacks, or for which it is undefined, is left out."""

    name: str  # all, causal, masked, or the name of a family of models
    group: str  # all, kind or family
    runs: tuple[str, ...]  # labels
    numbers: Mapping[str, float]  # accuracy and bear_score
    estimators: Mapping[str, Mapping[str, float]]  # by estimator, or by reduction; then by metric


def averages(report: Report) -> tuple[Average, ...]:
    """Means over all runs, over causal and over masked ones, and over families of two models or more.

    Every run has the same weight, as in the averages that Kissling et al. 2026 quote in their text. They have no
    interval: the models were chosen, not drawn.

    Returns:
        Empty for fewer than three runs, and for runs that were not asked the same.
    """
    return tuple(
        Average(
            *name,
            tuple(run.label for run in runs),
            _means([{"accuracy": run.accuracy, "bear_score": run.bear_score} for run in runs]),
            _nested([_of_estimators(run) for run in runs]),
        )
        for name, runs in _groups(report.runs)
    )


def reduction_averages(report: ReductionsReport) -> tuple[Average, ...]:
    """Means of accuracy, ACE and their harmonic mean under each reduction, over the same groups of runs.

    Source: Kissling et al. 2026, Figure 8. The harmonic mean is the mean over the runs of each one's own.
    """
    return tuple(
        Average(*name, tuple(run.label for run in runs), {}, _nested([_of_reductions(run.reductions) for run in runs]))
        for name, runs in _groups(report.runs)
    )


def _groups(runs: Sequence[AnyRun]) -> Iterator[tuple[tuple[str, str], list[AnyRun]]]:
    """Names and kinds of the groups with their runs; a group of all runs is there once."""
    if len(runs) < FEWEST_RUNS or len({run.facts.questions for run in runs}) > 1:
        return
    yield ("all", "all"), list(runs)
    for kind in KINDS:
        members = [run for run in runs if run.facts.manifest.model.kind == kind]
        if 1 < len(members) < len(runs):
            yield (kind, "kind"), members
    yield from _families(runs)


def _families(runs: Sequence[AnyRun]) -> Iterator[tuple[tuple[str, str], list[AnyRun]]]:
    families: dict[str, list[AnyRun]] = {}
    for run in runs:
        families.setdefault(family_of(run.facts.model), []).append(run)
    for family, members in families.items():
        if len({run.facts.model for run in members}) > 1 and len(members) < len(runs):
            yield (family, "family"), members


def _of_estimators(run: RunReport) -> dict[str, Mapping[str, Estimate | None]]:
    return {estimator.name: {**estimator.metrics, "coverage": estimator.coverage} for estimator in run.estimators}


def _of_reductions(reductions: Iterable[ReductionNumbers]) -> dict[str, Mapping[str, Estimate | None]]:
    return {
        numbers.reduction: {
            "accuracy": numbers.accuracy,
            "ace": numbers.ace,
            "harmonic_mean": Estimate(numbers.harmonic_mean),
        }
        for numbers in reductions
    }


def _nested(tables: Sequence[Mapping[str, Mapping[str, Estimate | None]]]) -> dict[str, dict[str, float]]:
    """The means by name, of the names that all have."""
    shared = [name for name in tables[0] if all(name in table for table in tables)]
    return {name: _means([table[name] for table in tables]) for name in shared}


def _means(rows: Sequence[Mapping[str, Estimate | None]]) -> dict[str, float]:
    means = {}
    for name in rows[0]:
        values = [row[name].value for row in rows if row.get(name) is not None]  # type: ignore[union-attr]
        if len(values) == len(rows) and not any(map(math.isnan, values)):
            means[name] = sum(values) / len(values)
    return means
