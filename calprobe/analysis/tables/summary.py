"""The table of several runs: a row a run, with the columns of the paper's Table 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from calprobe.analysis.prose import heading, left_out, mean_accuracy_name, score_notes
from calprobe.analysis.results import Report, RunReport
from calprobe.analysis.run_names import last_names
from calprobe.analysis.tables.labels import about
from calprobe.analysis.tables.types import LAST, Cell, Column, Row, Table
from calprobe.cells.run_facts import RunFacts
from calprobe.confidence import Headline, headline
from calprobe.metrics.error_shown import chance_shown, columns_shown, with_chance

# Kissling et al. 2026, Tables 1 and 3.
COLUMNS = {"ace": headline(Headline.PAPER), "brier": headline(Headline.PAGE)}
BY_CHANCE = {with_chance("ace")[1]: COLUMNS["ace"]}  # beside the errors of few instances


@dataclass(frozen=True, slots=True)
class _Found:
    """One cell of a run: its value, and the share of the instances that are behind it."""

    cell: Cell
    coverage: float = 1.0


def summary_table(report: Report) -> Table:
    """Accuracy, mean accuracy over paraphrases, ACE and Brier score of some estimators; columns of nothing left out.

    An estimator that fails in a run has a column with its coverage. The best run is marked where all runs answer the
    same probe completely, and only among runs of equal coverage.
    """
    columns = tuple(_columns(report))
    cells = [_cells(run, columns) for run in report.runs]
    kept = [place for place in range(len(columns)) if any(own[place].cell is not None for own in cells)]
    names = last_names([run.label for run in report.runs])
    alike = _same_instances([run.facts for run in report.runs])
    return Table(
        caption="Accuracy and calibration by run.",
        label="calibration-summary",
        kind="summary",
        stub="run",
        columns=tuple(columns[place] for place in kept),
        rows=tuple(
            Row(
                names[run.label],
                tuple(own[place].cell for place in kept),
                keys={"run": run.label, "model": run.facts.model},
                coverage=tuple(own[place].coverage for place in kept),
                about=about(run.facts),
            )
            for run, own in zip(report.runs, cells, strict=True)
        ),
        heading=tuple(heading(run.facts)[0] for run in report.runs),
        notes=(
            *_left_out([(names[run.label], left_out(run.facts)) for run in report.runs]),
            *(["The tables of the runs have the intervals."] if report.options.resampling.n_resamples else []),
            *([] if alike else ["No best is marked: not all runs have the same instances."]),
        ),
        general=(next(iter(score_notes(report.options.reduction, report.options))),),
        best_within="table" if alike else None,
        intervals=False,
        tidy=False,
    )


def _columns(report: Report) -> Iterator[Column]:
    facts = [run.facts for run in report.runs]
    yield Column("accuracy", "larger", keys={"metric": "accuracy"})
    yield Column(mean_accuracy_name(facts), "larger", keys={"metric": "bear_score"})
    failing = {e.name for run in report.runs for e in run.estimators if e.failed}
    given = list(dict.fromkeys(estimator.name for run in report.runs for estimator in run.estimators))
    chance = chance_shown(min((run.instances for run in report.runs), default=0), report.options.resampling)
    of_metrics = COLUMNS | BY_CHANCE if chance else COLUMNS
    metrics = report.metrics if report.chosen else columns_shown(report.metrics, few_values=False, chance=chance)
    for metric in metrics:
        shown = given if report.chosen else [name for name in of_metrics.get(metric.name, ()) if name in given]
        for estimator in shown:
            keys = {"metric": metric.name, "estimator": estimator}
            place = metric.priority or LAST
            yield Column(estimator, metric.better, heading=metric.title, keys=keys, priority=place)
    for estimator in given if report.chosen else headline(Headline.PAGE):
        if estimator not in failing:
            continue
        keys = {"metric": "coverage", "estimator": estimator}
        yield Column(estimator, heading="coverage", keys=keys, priority=9)


def _cells(run: RunReport, columns: Sequence[Column]) -> list[_Found]:
    estimators = {estimator.name: estimator for estimator in run.estimators}
    complete = {"accuracy": run.accuracy, "bear_score": run.bear_score}
    found = []
    for column in columns:
        metric, estimator = column.keys["metric"], estimators.get(column.keys.get("estimator", ""))
        if "estimator" not in column.keys:
            found.append(_Found(complete[metric]))
        elif estimator is None:
            found.append(_Found(None))
        elif metric == "coverage":
            found.append(_Found(estimator.coverage))
        else:
            found.append(_Found(estimator.metrics.get(metric), estimator.coverage.value))
    return found


def _left_out(found: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What each run leaves out, in one sentence where all leave out the same; `found` has names and clauses."""
    clauses = {clause for _, clause in found}
    if len(found) > 1 and len(clauses) == 1 and all(clauses):
        yield f"All runs: {clauses.pop()}."
        return
    yield from (f"{name}: {clause}." for name, clause in found if clause)


def _same_instances(runs: Sequence[RunFacts]) -> bool:
    """Whether complete runs were asked the same."""
    return len({run.questions for run in runs}) == 1 and not any(run.partial for run in runs)
