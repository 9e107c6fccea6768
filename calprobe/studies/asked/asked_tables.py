"""Every table of a report of asked runs, in order, under the names of its run and set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

from calprobe.cells.asked_extent import state_of
from calprobe.messages import counted
from calprobe.metrics.error_shown import chance_shown, columns_shown
from calprobe.show.prose import error_notes
from calprobe.show.tables.labels import TableName, table_labels, table_names
from calprobe.show.tables.types import Table
from calprobe.studies.asked.accuracy_layouts import answers_table, form_table, spread_table
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.confidence_layouts import (
    SHIFT,
    confidence_table,
    faithfulness_table,
    means_table,
    stated_table,
)
from calprobe.studies.asked.length_layouts import lengths_table
from calprobe.studies.asked.map_layouts import maps_table, recalibrated_table
from calprobe.studies.asked.results import AskedRunReport, SetReport
from calprobe.studies.asked.run_studies import STUDIES
from calprobe.studies.asked.sample_layouts import uncertainty_table
from calprobe.studies.asked.several_layouts import across_tables, matrix_tables
from calprobe.studies.asked.slice_layouts import slices_tables
from calprobe.studies.stated.layouts import stated_run_tables
from calprobe.studies.wording.budget_layouts import budget_tables
from calprobe.studies.wording.layouts import itself_table, wording_table
from calprobe.words import AskedCompat

NO_REPLIES = "No replies yet, so there are no numbers: run the `calprobe ask` of this run again, and it goes on."
# What of a disclosure a reader of numbers has to know at once; the rest is the fine print of files and pages.
ON_TERMINALS = frozenset(
    (
        *("answers", "graded by", "left out", "failures", "missing", "asked by", "tokens", "model", "paraphrases"),
        "right option",
        *("not graded", "grading errors", "entailment", "sentence embeddings"),
        *get_args(AskedCompat),
    )
)


def asked_tables(report: AskedReport) -> tuple[Table, ...]:
    """Every table: those of each run, its disclosure below the last of them, then those of several runs."""
    names = table_names("asked", report.runs)
    of_runs = [table for run in report.runs for table in _of_run(run, report, names[run.label])]
    of_all = f"across {counted(len(report.runs), 'run')}"
    across = [*(() if report.across is None else across_tables(report.across)), *_of_studies(report)]
    return (*of_runs, *(replace(table, heading=(of_all,)) for table in across))


def _of_studies(report: AskedReport) -> Iterator[Table]:
    """Runs of one study side by side."""
    for key, study in STUDIES.items():
        yield from study.tables_of_runs([run.studies[key] for run in report.runs if key in run.studies])


def heading(run: AskedRunReport) -> tuple[str, ...]:
    """What was asked of which model, and whether all of it was answered."""
    sets = ", ".join(f"{set_report.name} ({_size(set_report)})" for set_report in run.sets.values())
    sets = sets or "no replies"
    variants = counted(len(run.disclosure.variants), "variant")
    failed = sum(number for cell in run.reports() for number in cell.failures.values())
    more = f", {counted(failed, 'request')} failed" if failed else ""
    return (f"{run.label}: {run.model}, {sets}, {variants}, {state_of(run.extent)}{more}",)


def _size(set_report: SetReport) -> str:
    claims = f", {counted(set_report.claims, 'claim')}" if set_report.claims else ""
    return counted(set_report.questions, "question") + claims


def _of_run(run: AskedRunReport, report: AskedReport, name: TableName) -> list[Table]:
    tables = [table for set_report in run.sets.values() for table in _named_of_set(set_report, run, report, name)]
    of_sets = [*([SHIFT.table(run.shifts)] if run.shifts else []), *matrix_tables(run)]
    if run.stated is not None:
        of_sets += stated_run_tables(run.stated, report.stated_metrics)
    tables += [_named(table, run, name) for table in of_sets]
    if not tables:
        empty = Table(
            "Answers", "answers", "variant", (), (), heading=heading(run), notes=(NO_REPLIES,), kind="answers"
        )
        return [_named(empty, run, name)]
    tables[0] = replace(tables[0], heading=(*heading(run), *tables[0].heading))
    lines = [(title in ON_TERMINALS, f"{title}: {text}.") for title, text in run.disclosure.lines()]
    notes, fine_print = (
        tuple(text for needed, text in lines if needed is on_terminal) for on_terminal in (True, False)
    )
    tables[-1] = replace(tables[-1], notes=(*tables[-1].notes, *notes), fine_print=fine_print)
    return tables


def _named_of_set(set_report: SetReport, run: AskedRunReport, report: AskedReport, name: TableName) -> list[Table]:
    """The tables of a set; where a run has several, the first of each says which set follows."""
    tables = [_named(table, run, name, set_report) for table in _of_set(set_report, report, run)]
    if len(run.sets) > 1:
        tables[0] = replace(tables[0], heading=(f"{set_report.name}:",))
    return tables


def _of_set(set_report: SetReport, report: AskedReport, run: AskedRunReport) -> Iterator[Table]:
    for key, study in run.studies.items():
        yield from STUDIES[key].tables(study, set_report.name)
    yield answers_table(set_report)
    cells = set_report.cells.values()
    tables = (
        _confidence_table(set_report, report, run),
        uncertainty_table(set_report, report.metrics),
        *([maps_table(set_report)] if any(cell.maps for cell in cells) else []),
        *([recalibrated_table(set_report)] if any(cell.recalibrated for cell in cells) else []),
        wording_table({name: cell.wording for name, cell in set_report.cells.items()}),
        itself_table({name: cell.itself for name, cell in set_report.cells.items() if cell.itself}),
        *slices_tables(set_report, report.options),
        *budget_tables({name: cell.budgets for name, cell in set_report.cells.items()}),
        stated_table(set_report),
        faithfulness_table(set_report),
        *([means_table(set_report, report.options.threshold)] if run.stated is None else []),
        lengths_table(set_report),
        form_table(set_report),
        *([spread_table(set_report)] if set_report.spread else []),
    )
    yield from (table for table in tables if table.rows)


def _confidence_table(set_report: SetReport, report: AskedReport, run: AskedRunReport) -> Table:
    """The table of confidences, with the error that stands for those of the run and what chance makes of it."""
    if report.metrics_chosen:
        return confidence_table(set_report, report.metrics)
    chance = chance_shown(set_report.answered, report.options.resampling)
    metrics = columns_shown(report.metrics, few_values=run.few_values, chance=chance)
    return confidence_table(set_report, metrics, *error_notes(few_values=run.few_values, chance=chance))


def _named(table: Table, run: AskedRunReport, name: TableName, set_report: SetReport | None = None) -> Table:
    """The table with run and set in its caption, its label and its keys."""
    on, at = ("", "") if set_report is None else (f" on {set_report.name}", f"-{set_report.name}")
    return replace(
        table,
        caption=f"{table.caption}{on}: {name.of}.",
        label=next(iter(table_labels(name.label, [f"{table.label}{at}"]))),
        keys={"run": run.label, "model": run.model} | ({} if set_report is None else {"set": set_report.name}),
        best_within=None,
    )
