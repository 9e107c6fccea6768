"""A table of scores and correctness as a run: does a larger score mean more often right, and is it calibrated?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from calprobe.analysis.json_values import estimate_json
from calprobe.analysis.options import ReportOptions
from calprobe.analysis.report_runs import report_run
from calprobe.analysis.results import EstimatorReport, RunReport
from calprobe.analysis.scored_run import Instances, ScoredRun
from calprobe.arrays import Floats, Ints, check_correct
from calprobe.confidence import NO_PREDICTION, Confidence, Distributions, Estimator
from calprobe.confidence.estimators import Entry
from calprobe.interop.score_tables import ScoredAnswers
from calprobe.metrics import ACE_BINS, Metric, Resampling, ordinal_confidence, standard_metrics
from calprobe.runs import TemplateRecord


@dataclass(frozen=True, slots=True)
class RankOptions:
    """How to read the scores and what to compute of them."""

    uncertainty: bool = False  # larger scores are less sure
    ace_bins: int = ACE_BINS  # quantile bins
    resampling: Resampling = field(default_factory=Resampling)


DEFAULT_OPTIONS = RankOptions()


@dataclass(frozen=True, slots=True)
class RankReport:
    """The metrics of every score of a table."""

    run: RunReport
    metrics: tuple[Metric, ...]  # those that any of the scores has, in the order of their columns
    options: RankOptions

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
        return {self.label: {"answers": self.answers, "scores": scores}}


def rank(answers: ScoredAnswers, options: RankOptions = DEFAULT_OPTIONS, label: str = "") -> RankReport:
    """Accuracy and the ranking metrics of each score; every metric of a report of those that are confidences.

    A score whose values all lie in [0, 1] is taken for a confidence, unless `options.uncertainty` is set. Any other is
    mapped to its rank (`calprobe.metrics.ordinal_confidence`), which changes no ranking metric.

    Args:
        answers: from `calprobe.interop.score_tables.read_scored_answers`, or arrays of one's own.
        options: direction of the scores, number of ACE bins, bootstrap.
        label: the table's name in the result.
    Raises:
        ValueError: as the metrics do: NaN, arrays of different lengths, correctness other than 0 and 1.

    >>> import numpy as np
    >>> answers = ScoredAnswers({"entropy": np.array([2.5, 0.1, 0.7])}, np.array([0, 1, 1]))
    >>> rank(answers, RankOptions(uncertainty=True)).scores[0].metrics["auroc"].value
    1.0
    """
    run = run_of_answers(answers, label, uncertainty=options.uncertainty)
    found = report_run(run, ReportOptions(ace_bins=options.ace_bins, resampling=options.resampling))
    computed = {name for score in found.estimators for name in score.metrics}
    metrics = tuple(metric for metric in standard_metrics(options.ace_bins) if metric.name in computed)
    return RankReport(found, metrics, options)


def run_of_answers(answers: ScoredAnswers, label: str, *, uncertainty: bool = False) -> ScoredRun:
    """The table as a run: an instance an answer, an estimator a score, and no candidates. Raises as `rank`."""
    estimators: dict[str, Estimator] = {}
    known: dict[str, Confidence] = {}
    for name, values in answers.scores.items():
        is_confidence = not uncertainty and bool(((values >= 0) & (values <= 1)).all())
        entry = CONFIDENCE if is_confidence else SCORE
        estimators[name] = Estimator(name, entry, entry.definition, (), entry.compute)
        confidence = values if is_confidence else ordinal_confidence(values, uncertainty=uncertainty)
        known[name] = _given(confidence, check_correct(answers.correct, len(values)))
    count = len(answers.correct)
    return ScoredRun(
        label=label,
        recorded=None,
        relations=frozenset(),
        instances=Instances(np.full(count, ""), np.arange(count), None),
        estimators=estimators,
        clusters=None,
        questions=f"table {label}",
        evidence=None,
        known=known,
    )


def _given(confidence: Floats, correct: Ints) -> Confidence:
    nowhere = np.full(len(correct), NO_PREDICTION)
    return Confidence(nowhere, confidence, correct == 1, failed=np.zeros(len(correct), np.bool_))


def _compute(_distributions: Distributions) -> NoReturn:
    raise ValueError("a score of a table is given, not computed from probabilities of candidates")


def _bind(_entry: Entry, _templates: Sequence[TemplateRecord]) -> Iterator[Estimator]:
    return iter(())  # no templates give it


CONFIDENCE = Entry("{}", "given", "a confidence, as the table gives it", "", _compute, _bind, needs="given")
SCORE = Entry(
    "{}", "given", "the rank of a score among those of the table", "", _compute, _bind, needs="given", scale="order"
)
