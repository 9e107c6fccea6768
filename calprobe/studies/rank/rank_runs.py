"""A table of scores and correctness as a run: does a larger score mean more often right, and is it calibrated?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from calprobe.cells.scored import ScoredRun
from calprobe.cells.table import table_cell
from calprobe.errors import UsageError
from calprobe.interop.score_tables import ScoredAnswers
from calprobe.measures.compare_results import Contrast, by_estimator
from calprobe.measures.contrasts import Drawn, Sides, contrasts_of
from calprobe.measures.json_values import estimate_json
from calprobe.measures.options import ReportOptions
from calprobe.metrics import (
    ACE_BINS,
    IsotonicMetric,
    Metric,
    Resampling,
    holm,
    standard_metrics,
)
from calprobe.metrics.metric import is_resampled
from calprobe.studies.scored.report_runs import report_run
from calprobe.studies.scored.results import EstimatorReport, RunReport

IN_JSON = {"confidence_gap", "ece_over", "ece_under", "ecce_mad", "ecce_range", "brier_skill"}  # and in no list


@dataclass(frozen=True, slots=True)
class RankOptions:
    """How to read the scores and what to compute of them."""

    uncertainty: bool = False  # larger values of all scores are less sure
    ace_bins: int | None = ACE_BINS  # quantile bins; None: by the number of answers
    resampling: Resampling = field(default_factory=Resampling)
    uncertainties: tuple[str, ...] = ()  # names of single scores with larger values that are less sure
    baseline: str | None = None  # name of the score that the others are compared with; None: no comparison

    def is_uncertainty(self, name: str) -> bool:
        """Whether larger values of that score are less sure."""
        return self.uncertainty or name in self.uncertainties


DEFAULT_OPTIONS = RankOptions()
# Metrics that two scores of the same answers are compared by; accuracy is the same for both.
COMPARED = ("ace", "ece", "brier", "nll", "auroc", "aurc", "prr")


@dataclass(frozen=True, slots=True)
class RankReport:
    """The metrics of every score of a table."""

    run: RunReport
    metrics: tuple[Metric, ...]  # those that any of the scores has, in the order of their columns
    options: RankOptions
    contrasts: tuple[Contrast, ...] = ()  # each score's with the baseline; none without one

    @property
    def label(self) -> str:
        """The file as typed."""
        return self.run.label

    @property
    def answers(self) -> int:
        """Number of answers."""
        return self.run.instances

    @property
    def scores(self) -> tuple[EstimatorReport, ...]:
        """Each score's metrics, under the name of its column."""
        return self.run.estimators

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe rank --json`, in the manner of `report --json`, with columns for estimators."""
        scores = {
            score.name: {name: estimate_json(estimate) for name, estimate in score.metrics.items()}
            for score in self.scores
        }
        record: dict[str, Any] = {"answers": self.answers, "scores": scores}
        if self.options.baseline is not None:
            record["differences"] = {"baseline": self.options.baseline, "scores": self._differences()}
        return {self.label: record}

    def _differences(self) -> dict[str, dict[str, Any]]:
        names = [score.name for score in self.scores if score.name != self.options.baseline]
        by_score = by_estimator(self.contrasts)
        return {
            name: {metric: _tested(contrast) for metric, contrast in by_score.get(name, {}).items()} for name in names
        }


@dataclass(frozen=True, slots=True)
class GroupedRanks:
    """The reports of the groups of a table."""

    label: str  # the file as typed
    column: str  # that the answers are grouped by
    groups: Mapping[str, RankReport]

    def to_json(self) -> dict[str, Any]:
        """The object of `calprobe rank --group --json`: {FILE: {group, groups: {LABEL: {answers, scores}}}}."""
        groups = {label: report.to_json()[label] for label, report in self.groups.items()}
        return {self.label: {"group": self.column, "groups": groups}}


def rank(answers: ScoredAnswers, options: RankOptions = DEFAULT_OPTIONS, label: str = "") -> RankReport:
    """Accuracy and the ranking metrics of each score; every metric of a report of those that are confidences.

    A score with all values in [0, 1] is taken for a confidence, unless `options.uncertainty` is set. Any other is
    mapped to its rank (`calprobe.metrics.ordinal_confidence`), which changes no ranking metric.

    Args:
        answers: from `calprobe.interop.score_tables.read_scored_answers`, or arrays of one's own.
        options: direction of the scores, number of ACE bins, bootstrap.
        label: the table's name in the result.
    Raises:
        ValueError: as the metrics do: NaN, arrays of different lengths, correctness other than 0 and 1.
        UsageError: a name in the options that is not a score.

    >>> import numpy as np
    >>> answers = ScoredAnswers({"entropy": np.array([2.5, 0.1, 0.7])}, np.array([0, 1, 1]))
    >>> rank(answers, RankOptions(uncertainty=True)).scores[0].metrics["auroc"].value
    1.0
    """
    _check_names(answers, options)
    run = run_of_answers(answers, label, options)
    report = report_run(run, ReportOptions(ace_bins=options.ace_bins, resampling=options.resampling))
    computed = {name for score in report.estimators for name in score.metrics}
    metrics = tuple(
        metric for metric in standard_metrics(options.ace_bins) if metric.name in computed and _listed(metric)
    )
    return RankReport(report, metrics, options, _contrasts(run, report, metrics, options))


def rank_groups(
    answers: ScoredAnswers, column: str, options: RankOptions = DEFAULT_OPTIONS, label: str = ""
) -> GroupedRanks:
    """`rank` of each group of the answers by itself. Raises as `rank`, ValueError for answers without groups."""
    groups = {name: rank(group_answers, options, name) for name, group_answers in answers.by_group().items()}
    return GroupedRanks(label, column, groups)


def _listed(metric: Metric) -> bool:
    """Whether a list of metrics has it; JSON has tests and decompositions of calibration too."""
    return is_resampled(metric) and not isinstance(metric, IsotonicMetric) and metric.name not in IN_JSON


def run_of_answers(answers: ScoredAnswers, label: str, options: RankOptions = DEFAULT_OPTIONS) -> ScoredRun:
    """The table as a run without candidates. Raises as `rank`."""
    cell = table_cell(answers, label, options.is_uncertainty)
    return ScoredRun(cell, recorded=None, relations=frozenset(), questions=f"table {label}", evidence=None)


def _check_names(answers: ScoredAnswers, options: RankOptions) -> None:
    named = (*options.uncertainties, *([] if options.baseline is None else [options.baseline]))
    if unknown := next((name for name in named if name not in answers.scores), None):
        raise UsageError(f"{unknown!r} is not one of the scores: {', '.join(answers.scores)}")


def _contrasts(
    run: ScoredRun, report: RunReport, metrics: Sequence[Metric], options: RankOptions
) -> tuple[Contrast, ...]:
    """Each score against the baseline, by the metrics that both have."""
    if options.baseline is None:
        return ()
    values = {score.name: score.metrics for score in report.estimators}
    of_baseline, baseline = values.pop(options.baseline), run.cell.sample(options.baseline)
    contrasts: list[Contrast] = []
    for name, estimates in values.items():
        shared = [m for m in metrics if m.name in COMPARED and m.name in estimates and m.name in of_baseline]
        sides = Sides(run.cell.sample(name), baseline)
        contrasts += contrasts_of({name: sides}, shared, Drawn(options.resampling))
    p_values = holm([contrast.difference.p_value for contrast in contrasts]) if contrasts else ()
    corrected = zip(contrasts, p_values, strict=True)
    return tuple(replace(contrast, p_holm=float(p), draws=None) for contrast, p in corrected)


def _tested(contrast: Contrast) -> dict[str, Any]:
    """The difference with its p-values as JSON has them."""
    return {name: value for name, value in contrast.tested.items() if name != "p_max_t"}
