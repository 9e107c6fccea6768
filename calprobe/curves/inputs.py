"""What every kind of curve is computed from: runs, their estimators, and the values that a report has of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from calprobe.cells.opening import Runs, open_scored_runs
from calprobe.cells.scored import ScoredRun
from calprobe.confidence import Confidence, Estimator
from calprobe.curves.curve import CurveOptions
from calprobe.errors import UsageError
from calprobe.measures.options import ReportOptions
from calprobe.messages import no_estimator
from calprobe.metrics import Estimate, Metric, standard_metrics
from calprobe.metrics.bootstrap import Predictions

log = logging.getLogger(__name__)

OTHER_QUESTIONS = "%s: not the same probe or instances as %s: the two do not compare"

Values = Mapping[str, Mapping[str, Estimate]]  # by estimator, then by metric
ExposureCounts = Mapping[str, Sequence[int]]  # by relation: how often each of its instances is in the training data


@dataclass(frozen=True, slots=True)
class Reported:
    """A run of a report, with what the report found of it: figures show the very values of its tables."""

    run: ScoredRun
    values: Values  # with their intervals
    options: ReportOptions
    estimators: tuple[str, ...] = ()  # to be drawn where a kind of curve has many
    exposures: ExposureCounts | None = None  # None: not known

    @property
    def chosen(self) -> tuple[Estimator, ...]:
        """The estimators to be drawn, those that the run has."""
        return tuple(self.run.estimators[name] for name in self.estimators if name in self.values)


def read_runs(runs: Runs, options: ReportOptions, *, several_probes: bool = False) -> Iterator[ScoredRun]:
    """The runs one by one, each over its complete relations. Raises as `report`.

    Logged are partial runs, and those that were not asked what the first one was, or the first one of the same probe.
    """
    firsts: dict[str, ScoredRun] = {}
    for run in open_scored_runs(runs, options):
        complete, relations = len(run.relations), len(run.manifest.relations)
        if complete < relations:
            log.warning("%s: partial run: %d of %d relations", run.label, complete, relations)
        if limited := run.manifest.limits():
            log.warning("%s: limited: %s", run.label, limited)
        first = firsts.setdefault(run.manifest.probe.name if several_probes else "", run)
        if run.questions != first.questions:
            log.warning(OTHER_QUESTIONS, run.label, first.label)
        yield run


def lead_of(run: ScoredRun, estimator: Estimator) -> tuple[str, str, str, tuple[int, ...]]:
    """The fields of a `Line`."""
    return run.label, run.model, estimator.name, estimator.templates


def chosen_estimators(
    run: ScoredRun,
    options: CurveOptions,
    defaults: Sequence[str],
    among: Sequence[str] | None = None,
    *,
    probabilities: bool = False,
) -> tuple[Estimator, ...]:
    """The estimators asked for, each once, or those of the defaults that the run has.

    Args:
        run: its templates decide.
        options: with the names, maybe none.
        defaults: names.
        among: the only ones that the kind of curve is made of; None: any.
        probabilities: whether the kind of curve has a meaning for these alone.
    Raises:
        UsageError: one asked for that the run does not have or that is no probability, or none of the defaults.
    """
    estimators = {name: estimator for name, estimator in run.estimators.items() if among is None or name in among}
    names = tuple(dict.fromkeys(options.estimators or defaults))
    lacking = [name for name in names if name not in estimators]
    if len(lacking) == len(names) or (lacking and options.estimators):
        if not estimators:
            raise UsageError(f"{run.label} has no estimator for this curve; score it with template 0 or paraphrases")
        raise UsageError(no_estimator(f"{run.label}, for this curve,", lacking, estimators))
    chosen = tuple(estimators[name] for name in names if name in estimators)
    if probabilities and (orders := [estimator.name for estimator in chosen if estimator.scale == "order"]):
        reason = f"{', '.join(orders)}: an order, no probability, so it has no calibration"
        raise UsageError(f"{reason}; use --kind accuracy-rejection, or leave it out")
    return chosen


def predictions(confidences: dict[str, Confidence]) -> dict[str, Predictions]:
    """What metrics take, by estimator."""
    return {name: (confidence.confidence, confidence.correct) for name, confidence in confidences.items()}


def metrics_named(names: Sequence[str], options: ReportOptions) -> tuple[Metric, ...]:
    """The metrics of a report with these names, ACE with the options' bins."""
    by_name = {metric.name: metric for metric in standard_metrics(options.ace_bins)}
    return tuple(by_name[name] for name in names)
