"""Many runs of all kinds as one result: models side by side under each task, and their differences.

A task is what several models were given alike: a probe, or question sets under a study. A run that cannot be read is
named with the reason, and the others are shown without it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from calprobe import messages
from calprobe.cells.asked_folder import asked_of
from calprobe.cells.opening import of_replies, of_scores, open_run
from calprobe.confidence import BASE
from calprobe.errors import CalprobeError
from calprobe.measures.compare_results import Comparison
from calprobe.measures.compare_runs import compare
from calprobe.measures.json_values import estimate_json
from calprobe.measures.options import DEFAULT_OPTIONS, CompareOptions, ReportOptions, metrics_of
from calprobe.metrics import Estimate, Metric, Resampling
from calprobe.metrics.error_shown import ERRORS, SMALL, ErrorName, chance_shown, error_shown, with_chance
from calprobe.metrics.intervals import UNDEFINED
from calprobe.runs import AskedRun, Run
from calprobe.show.verdict import Judged
from calprobe.studies.asked.across import across_runs
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.compare_asked import compare_asked
from calprobe.studies.asked.compared import AskedComparison
from calprobe.studies.asked.overall import overall_of
from calprobe.studies.asked.report_asked import report_asked_run
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.asked.run_verdict import judged
from calprobe.studies.scored.notes import judged_estimator
from calprobe.studies.scored.report_runs import report
from calprobe.studies.scored.results import Report, RunReport
from calprobe.words import RunKind

log = logging.getLogger(__name__)

METRICS = (*(name for error in ERRORS for name in with_chance(error)), "brier", "auroc")
G = TypeVar("G")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Task:
    """What several models were given alike, and the folders of their runs."""

    name: str
    runs: Mapping[str, str]  # by what each is called
    missing: Mapping[str, str] = field(default_factory=dict)  # why there is no run, by what it would be called


@dataclass(frozen=True, slots=True)
class TaskRun:
    """One run among those of its task."""

    label: str
    model: str
    path: str
    partial: bool
    n: int  # instances; of replies, rows of the usual variants that have the confidence
    accuracy: Estimate  # of several sets or variants the mean over these, without an interval
    metrics: Mapping[str, Estimate]  # those of METRICS, likewise
    of: str  # the estimator whose answers and confidences all numbers are of
    questions: int  # the most that any number is of; of scores, the instances
    judged: Judged | None = None  # that confidence; None where no answer has one
    left_out: tuple[str, ...] = ()  # variants that no number is of
    failed: int = 0  # requests without a reply; every number leaves them out
    warnings: tuple[str, ...] = ()  # what stands beside the verdict, a clause each

    @property
    def gap(self) -> Estimate:
        """Mean confidence minus accuracy, on which the verdict rests."""
        return UNDEFINED if self.judged is None else self.judged.metrics.get("confidence_gap", UNDEFINED)

    def to_json(self) -> dict[str, Any]:
        """The run's object in the JSON of an overview. NaN is None."""
        named = {
            "model": self.model,
            "path": self.path,
            "partial": self.partial,
            "n": self.n,
            "of": self.of,
            "verdict": self.judged.verdict if self.judged else None,
            "left_out": list(self.left_out),
            "failed": self.failed,
            "warnings": list(self.warnings),
        }
        numbers = {"accuracy": self.accuracy, "confidence_gap": self.gap, **self.metrics}
        return named | {name: estimate_json(value) for name, value in numbers.items()}


@dataclass(frozen=True, slots=True)
class TaskOverview:
    """The runs of one task side by side."""

    name: str
    kind: RunKind | None  # None: there is no run that can be read
    sides: tuple[TaskRun, ...]
    missing: Mapping[str, str]  # why a run is not there, or cannot be read, by what it is called
    comparison: Comparison | AskedComparison | None = None  # None: fewer than two runs, or see `uncompared`
    uncompared: str = ""  # why runs could not be compared
    about: str = ""  # LIMITED, and to what part of its probe or questions; empty if to none
    error: ErrorName = "ace"  # the calibration error that stands for all of its runs

    def to_json(self) -> dict[str, Any]:
        """The task's object in the JSON of an overview."""
        return {
            "kind": self.kind,
            "about": self.about or None,
            "error": self.error if self.sides else None,
            "runs": {side.label: side.to_json() for side in self.sides},
            "missing": dict(self.missing),
            "comparison": None if self.comparison is None else self.comparison.to_json(),
            "uncompared": self.uncompared or None,
        }


@dataclass(frozen=True, slots=True)
class Overview:
    """All tasks."""

    title: str
    tasks: tuple[TaskOverview, ...]
    metrics: tuple[Metric, ...]  # those of METRICS, in the order of columns
    resampling: Resampling

    @property
    def errors(self) -> tuple[ErrorName, ...]:
        """The calibration errors that stand for any task."""
        names = {task.error for task in self.tasks if task.sides}
        return tuple(error for error in ERRORS if error in names) or ERRORS[:1]

    @property
    def chance(self) -> bool:
        """Whether what chance makes of errors is shown: a task is of few questions."""
        sides = (side for task in self.tasks for side in task.sides)
        return chance_shown(min((side.questions for side in sides), default=SMALL), self.resampling)

    def to_json(self) -> dict[str, Any]:
        """A key for each task."""
        return {"tasks": {task.name: task.to_json() for task in self.tasks}}


@dataclass(frozen=True, slots=True)
class ReportedTask:
    """A task with the full report of its runs, for a page of its own."""

    overview: TaskOverview
    report: Report | AskedReport | None  # None: there is no run that can be read


def report_task(task: Task, options: ReportOptions = DEFAULT_OPTIONS) -> ReportedTask:
    """Report and compare the runs of a task; raises nothing for runs that are odd, missing or of two kinds."""
    missing = dict(task.missing)
    opened = _each(task.runs, lambda _, path: open_run(path), missing)
    asked_runs, scored_runs = of_replies(opened), of_scores(opened)
    if asked_runs and scored_runs:
        missing |= dict.fromkeys(scored_runs, "a run of scores among runs of replies; report it by itself")
    if asked_runs:
        reported = _asked(task, asked_runs, options, missing)
    elif scored_runs:
        reported = _scored(task, scored_runs, options, missing)
    else:
        reported = ReportedTask(TaskOverview(task.name, None, (), missing), None)
    return replace(reported, overview=replace(reported.overview, about=_limited(opened.values())))


def _limited(runs: Iterable[Run | AskedRun]) -> str:
    """What part of its probe or its questions each run is of, said once where they are of one part."""
    sets = (run.set_records if isinstance(run, AskedRun) else (run.manifest,) for run in runs)
    limits = dict.fromkeys(filter(None, (record.limits() for records in sets for record in records)))
    return f"LIMITED: {', '.join(limits)}" if limits else ""


def overview(title: str, tasks: Iterable[TaskOverview], options: ReportOptions = DEFAULT_OPTIONS) -> Overview:
    """Tasks that were reported, together."""
    by_name = {metric.name: metric for metric in metrics_of(options)}
    return Overview(title, tuple(tasks), tuple(by_name[name] for name in METRICS), options.resampling)


def _scored(task: Task, runs: Mapping[str, Run], options: ReportOptions, missing: dict[str, str]) -> ReportedTask:
    by_label = _each(runs, lambda label, run: report({label: run}, options), missing)
    reports = list(by_label.values())
    if not reports:
        return ReportedTask(TaskOverview(task.name, "scored", (), missing), None)
    joined = replace(
        reports[0],
        runs=tuple(run for of_run in reports for run in of_run.runs),
        scored=tuple(run for of_run in reports for run in of_run.scored),
    )
    reported = {label: runs[label] for label in by_label}
    # Models may be scored under more templates than others; a partial run lacks facts, and is not compared.
    compared = CompareOptions(scores=options, intersect=not any(run.facts.partial for run in joined.runs))
    comparison, why = _compared(reported, lambda: compare(reported, compared))
    sides = tuple(_scored_side(run, task.runs[run.label]) for run in joined.runs)
    return ReportedTask(TaskOverview(task.name, "scored", sides, missing, comparison, why), joined)


def _asked(task: Task, runs: Mapping[str, AskedRun], options: ReportOptions, missing: dict[str, str]) -> ReportedTask:
    opened = _each(runs, asked_of, missing)
    by_label = _each(opened, lambda _, run: report_asked_run(run, options), missing)
    if not by_label:
        return ReportedTask(TaskOverview(task.name, "asked", (), missing), None)
    reports = tuple(by_label.values())
    joined = AskedReport(reports, metrics_of(options), options, across_runs(reports, options))
    reported = [opened[label] for label in by_label]
    comparison, why = _compared(by_label, lambda: compare_asked(reported, CompareOptions(scores=options)))
    error = error_shown(few_values=any(run.few_values for run in reports))
    sides = tuple(_asked_side(run, task.runs[run.label], error) for run in reports)
    return ReportedTask(TaskOverview(task.name, "asked", sides, missing, comparison, why, error=error), joined)


def _each(sources: Mapping[str, G], make: Callable[[str, G], T], missing: dict[str, str]) -> dict[str, T]:
    """What is made of each, by its label; where that fails, why, in `missing`."""
    results = {}
    for label, source in sources.items():
        try:
            results[label] = make(label, source)
        except CalprobeError as error:
            missing[label] = str(error)
        except Exception as error:  # a run that nobody foresaw must not take the others with it
            log.debug("%s", label, exc_info=True)
            missing[label] = f"{type(error).__name__}: {error}"
    return results


def _compared(runs: Mapping[str, object], make: Callable[[], T]) -> tuple[T | None, str]:
    """The comparison, or why there is none."""
    if len(runs) < 2:
        return None, ""
    failed: dict[str, str] = {}
    results = _each({"comparison": runs}, lambda _, __: make(), failed)
    return results.get("comparison"), failed.get("comparison", "")


def _scored_side(run: RunReport, path: str) -> TaskRun:
    headline = next(
        (estimator for estimator in run.estimators if estimator.name == BASE), next(iter(run.estimators), None)
    )
    metrics = {} if headline is None else headline.metrics
    verdict = None if headline is None else judged_estimator(headline)
    return TaskRun(
        label=run.label,
        model=run.facts.model,
        path=messages.shown(path),
        partial=run.facts.partial,
        n=run.instances,
        accuracy=metrics.get("accuracy", UNDEFINED),
        metrics={name: metrics.get(name, UNDEFINED) for name in METRICS},
        of="" if headline is None else headline.name,
        questions=run.instances,
        judged=verdict if verdict and _has_gap(verdict.metrics) else None,
    )


def _asked_side(run: AskedRunReport, path: str, error: ErrorName) -> TaskRun:
    overall = overall_of(run)
    metrics = {} if overall is None else overall.metrics
    return TaskRun(
        label=run.label,
        model=run.model,
        path=messages.shown(path),
        partial=run.partial,
        n=0 if overall is None else overall.rows,
        accuracy=metrics.get("accuracy", UNDEFINED),
        metrics={name: metrics.get(name, UNDEFINED) for name in METRICS},
        of="" if overall is None else overall.of,
        questions=sum(of_set.answered for of_set in run.sets.values()),
        judged=replace(judged(run, overall.of), error=error) if overall and _has_gap(metrics) else None,
        left_out=() if overall is None else overall.left_out,
        failed=sum(number for cell in run.reports() for number in cell.failures.values()),
        warnings=run.disclosure.warnings,
    )


def _has_gap(metrics: Mapping[str, Estimate]) -> bool:
    """Whether anything can be said of the confidence."""
    return not math.isnan(metrics.get("confidence_gap", UNDEFINED).value)
