"""What every kind of curve starts from: runs with the confidences of the estimators that are to be drawn."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from calprobe.analysis.clusters import Labels, cluster_labels
from calprobe.analysis.curves.results import CurveOptions
from calprobe.analysis.questions import questions_of
from calprobe.analysis.results import ReportOptions
from calprobe.analysis.source import RunLike, open_runs
from calprobe.confidence import Confidence, Distributions, Estimator, available_estimators
from calprobe.errors import UsageError
from calprobe.metrics import Estimate, Metric, standard_metrics
from calprobe.metrics.bootstrap import Predictions
from calprobe.runs import Run, ScoreTable

log = logging.getLogger(__name__)

PAPERS = ("base", "margin", "average_vote_2", "average_min")  # the columns of the paper's Table 1
OTHER_QUESTIONS = "%s: not the same probe or instances as %s: the two do not compare"

Values = Mapping[str, Mapping[str, Estimate]]  # by estimator, then by metric


@dataclass(frozen=True, slots=True)
class CurveRun:
    """One run's scores, as far as a curve needs them."""

    label: str  # as typed
    model: str
    table: ScoreTable
    distributions: Distributions
    clusters: Labels | None  # [instances]; None: instances are drawn one by one

    @property
    def estimators(self) -> dict[str, Estimator]:
        """Those that the run's templates allow, by name."""
        return {estimator.name: estimator for estimator in available_estimators(self.table.templates)}

    def confidences(self, estimators: Sequence[Estimator]) -> dict[str, Confidence]:
        """The estimators' confidences by their names."""
        return {estimator.name: estimator(self.distributions) for estimator in estimators}

    def whose(self, estimator: Estimator) -> tuple[str, str, str, tuple[int, ...]]:
        """The fields of a `Line`."""
        return self.label, self.model, estimator.name, estimator.templates


def read_runs(runs: RunLike | Sequence[RunLike], options: ReportOptions) -> Iterator[CurveRun]:
    """The runs one by one, each over its complete relations. Raises as `report`.

    Logged are partial runs, and those that were not asked what the first one was.
    """
    first: tuple[str, str] | None = None  # label and questions
    for label, run in open_runs(runs).items():
        found = curve_run(label, run, options)
        complete, relations = len(run.complete_relations), len(run.manifest.relations)
        if complete < relations:
            log.warning("%s: partial run: %d of %d relations", label, complete, relations)
        own = (label, questions_of(run.manifest, found.table))
        first = first or own
        if own[1] != first[1]:
            log.warning(OTHER_QUESTIONS, label, first[0])
        yield found


def curve_run(label: str, run: Run, options: ReportOptions) -> CurveRun:
    """What curves need of one run, over its complete relations. Raises CalprobeError as `report`."""
    table = run.table(options.reduction, options.compat)
    distributions, clusters = Distributions.from_table(table), cluster_labels(table, options)
    return CurveRun(label, run.manifest.model.name, table, distributions, clusters)


def chosen_estimators(
    run: CurveRun, options: CurveOptions, defaults: Sequence[str], among: Sequence[str] | None = None
) -> tuple[Estimator, ...]:
    """The estimators asked for, each once, or those of the defaults that the run has.

    Args:
        run: whose templates decide.
        options: with the names asked for, maybe none.
        defaults: names.
        among: the only ones that the kind of curve is made of; None: any.
    Raises:
        UsageError: one asked for that the run does not have, or none of the defaults.
    """
    given = {name: found for name, found in run.estimators.items() if among is None or name in among}
    asked = tuple(dict.fromkeys(options.estimators or defaults))
    lacking = [name for name in asked if name not in given]
    if len(lacking) == len(asked) or (lacking and options.estimators):
        mend = f"give --estimator of {', '.join(given)}" if given else "score it with template 0 or paraphrases"
        what = f"has no estimator {', '.join(lacking)} for this curve (not its name, or not its templates)"
        raise UsageError(f"{run.label} {what}; {mend}")
    return tuple(given[name] for name in asked if name in given)


def predictions(confidences: dict[str, Confidence]) -> dict[str, Predictions]:
    """What metrics take, by estimator."""
    return {name: (found.confidence, found.correct) for name, found in confidences.items()}


def metrics_named(names: Sequence[str], options: ReportOptions) -> tuple[Metric, ...]:
    """The metrics of a report with these names, ACE with the options' bins."""
    by_name = {metric.name: metric for metric in standard_metrics(options.ace_bins)}
    return tuple(by_name[name] for name in names)
