"""The numbers that a run is known by in a list: how often it is right, and how far its confidence is from that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calprobe.cells.asked import Asked
from calprobe.cells.asked_folder import asked_of
from calprobe.cells.scored import ScoredRun, scored_run
from calprobe.confidence import BASE
from calprobe.measures.json_values import number_json
from calprobe.measures.options import DEFAULT_OPTIONS, ReportOptions
from calprobe.metrics import Estimate, bootstrap, standard_metrics
from calprobe.metrics.error_shown import ERRORS, ErrorName, error_shown, for_chance, with_chance
from calprobe.runs import AskedRun, Run
from calprobe.studies.asked.overall import overall_read


@dataclass(frozen=True, slots=True)
class RunHeadline:
    """Accuracy and calibration error of a run, without intervals; None for what it has not."""

    n: int  # instances; of replies, rows of the usual variants that have the confidence
    accuracy: float | None  # of replies the mean over sets and variants, see `Overall.accuracy`
    ace: float | None
    ece: float | None
    error: ErrorName  # the one of both that stands for the run
    if_calibrated: float | None  # that error by chance alone, if perfectly calibrated; None from 1,000 questions on
    p: float | None  # likewise; None also of several sets or variants
    of: str  # estimator, or reader of replies without any confidence
    left_out: tuple[str, ...] = ()  # variants of another form of reply, or order of options


NOTHING = RunHeadline(0, None, None, None, "ace", None, None, "")


def headline_of(run: Run | AskedRun) -> RunHeadline:
    """The headline of a run as far as it has got: over its complete relations, or the replies that are there.

    Raises CalprobeError as `Run.table`, and where the questions of a run of replies are missing or damaged.
    """
    if isinstance(run, AskedRun):
        return asked_headline(asked_of(str(run.path), run))
    return scored_headline(scored_run(str(run.path), run, DEFAULT_OPTIONS))


def scored_headline(run: ScoredRun, options: ReportOptions = DEFAULT_OPTIONS) -> RunHeadline:
    """By the estimator whose predictions are the run's: base, else its first one."""
    name = BASE if BASE in run.estimators else next(iter(run.estimators), None)
    if name is None or not len(run.instances):
        return NOTHING
    confidence = run.confidence(name)
    error = error_shown(few_values=False)
    shown = {*ERRORS, *with_chance(error)}
    metrics = bootstrap(
        [metric for metric in standard_metrics(options.ace_bins) if metric.name in shown],
        confidence.confidence,
        confidence.correct,
        for_chance(len(run.instances), options.resampling),
        run.clusters,
    )
    accuracy = {"accuracy": Estimate(float(confidence.correct.mean()))}
    return _headline(len(run.instances), metrics | accuracy, error, name)


def asked_headline(asked: Asked, options: ReportOptions = DEFAULT_OPTIONS) -> RunHeadline:
    """By the estimator that stands for the run, in the mean over its usual variants: see `Overall`."""
    overall = overall_read(asked, options, intervals=False)
    if overall is None:
        return NOTHING
    metrics = {**overall.metrics, "accuracy": overall.accuracy}
    return _headline(overall.rows, metrics, overall.error, overall.of, overall.left_out)


def _headline(
    rows: int, metrics: Mapping[str, Estimate], error: ErrorName, of: str, left_out: tuple[str, ...] = ()
) -> RunHeadline:
    def value(name: str) -> float | None:
        return number_json(metrics[name].value) if name in metrics else None

    _, if_calibrated, p = with_chance(error)
    return RunHeadline(
        n=rows,
        accuracy=value("accuracy"),
        ace=value("ace"),
        ece=value("ece"),
        error=error,
        if_calibrated=value(if_calibrated),
        p=value(p),
        of=of,
        left_out=left_out,
    )
