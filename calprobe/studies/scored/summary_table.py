"""The table of several runs: a row a run, with the columns of the paper's Table 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calprobe.cells.run_facts import RunFacts
from calprobe.confidence import Headline, headline
from calprobe.measures.run_names import last_names
from calprobe.metrics import Estimate
from calprobe.metrics.error_shown import chance_shown, columns_shown, with_chance
from calprobe.show.prose import heading, left_out, mean_accuracy_name, score_notes
from calprobe.show.tables.labels import about
from calprobe.show.tables.layout import Cells, Layout, cells, filled
from calprobe.show.tables.types import LAST, Better, Column, Row, Table
from calprobe.studies.scored.results import EstimatorReport, Report, RunReport

# Kissling et al. 2026, Tables 1 and 3.
COLUMNS = {"ace": headline(Headline.PAPER), "brier": headline(Headline.PAGE)}
BY_CHANCE = {with_chance("ace")[1]: COLUMNS["ace"]}  # beside the errors of few instances


def summary_table(report: Report) -> Table:
    """Accuracy, mean accuracy over paraphrases, ACE and Brier score of some estimators; columns of nothing left out.

    An estimator that fails in a run has a column with its coverage. The best run is marked where all runs answer the
    same probe completely, and only among runs of equal coverage.
    """
    names = last_names([run.label for run in report.runs])
    alike = _same_instances([run.facts for run in report.runs])
    columns = filled(_columns(report), report.runs)
    return Layout[RunReport](
        "Accuracy and calibration by run.",
        "calibration-summary",
        "run",
        lambda run: Row(
            names[run.label],
            keys={"run": run.label, "model": run.facts.model},
            coverage=tuple(_coverage(run, cells.column) for cells in columns),
            about=about(run.facts),
        ),
        columns,
        kind="summary",
    ).table(
        report.runs,
        *_left_out([(names[run.label], left_out(run.facts)) for run in report.runs]),
        *(["The tables of the runs have the intervals."] if report.options.resampling.n_resamples else []),
        *([] if alike else ["No best is marked: not all runs have the same instances."]),
        heading=tuple(heading(run.facts)[0] for run in report.runs),
        general=(next(iter(score_notes(report.options.reduction, report.options))),),
        best_within="table" if alike else None,
        intervals=False,
        tidy=False,
    )


def _columns(report: Report) -> Iterator[Cells[RunReport]]:
    yield cells("accuracy", "accuracy", lambda run: run.accuracy, "larger")
    mean_accuracy = mean_accuracy_name([run.facts for run in report.runs])
    yield cells(mean_accuracy, "bear_score", lambda run: run.bear_score, "larger")
    failing = {e.name for run in report.runs for e in run.estimators if e.failed}
    estimators = list(dict.fromkeys(estimator.name for run in report.runs for estimator in run.estimators))
    chance = chance_shown(min((run.instances for run in report.runs), default=0), report.options.resampling)
    of_metrics = COLUMNS | BY_CHANCE if chance else COLUMNS
    metrics = report.metrics if report.chosen else columns_shown(report.metrics, few_values=False, chance=chance)
    for metric in metrics:
        names = (
            estimators if report.chosen else [name for name in of_metrics.get(metric.name, ()) if name in estimators]
        )
        for name in names:
            yield _of_estimator(name, metric.name, metric.title, metric.priority or LAST, metric.better)
    for name in estimators if report.chosen else headline(Headline.PAGE):
        if name in failing:
            yield _of_estimator(name, "coverage", "coverage", 9)


def _of_estimator(name: str, metric: str, title: str, priority: int, better: Better | None = None) -> Cells[RunReport]:
    """The column of a metric, or of the coverage, of each run's estimator of that name."""

    def cell(run: RunReport) -> Estimate | None:
        estimator = _named(run, name)
        if estimator is None:
            return None
        return estimator.coverage if metric == "coverage" else estimator.metrics.get(metric)

    return cells(name, metric, cell, better, heading=title, keys={"estimator": name}, priority=priority)


def _coverage(run: RunReport, column: Column) -> float:
    """The share of the instances that are behind a cell of the run."""
    estimator = _named(run, column.keys.get("estimator"))
    return 1.0 if estimator is None or column.keys["metric"] == "coverage" else estimator.coverage.value


def _named(run: RunReport, name: str | None) -> EstimatorReport | None:
    return next((estimator for estimator in run.estimators if estimator.name == name), None)


def _left_out(runs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What each run leaves out, in one sentence where all leave out the same; `runs` has names and clauses."""
    clauses = {clause for _, clause in runs}
    if len(runs) > 1 and len(clauses) == 1 and all(clauses):
        yield f"All runs: {clauses.pop()}."
        return
    yield from (f"{name}: {clause}." for name, clause in runs if clause)


def _same_instances(runs: Sequence[RunFacts]) -> bool:
    """Whether complete runs were asked the same."""
    return len({run.questions for run in runs}) == 1 and not any(run.partial for run in runs)
