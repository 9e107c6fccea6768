"""The tables of a report on reductions: a row each, of how token scores make a statement's."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.metrics import Estimate
from calprobe.show.prose import heading, score_notes, sentence, size_and_state
from calprobe.show.tables.labels import TableName, of_run, table_names
from calprobe.show.tables.layout import Cells, Layout, cells
from calprobe.show.tables.types import Row, Table
from calprobe.studies.scored.against_table import against_table
from calprobe.studies.scored.averages_table import reduction_averages_table
from calprobe.studies.scored.reductions import ReductionNumbers, ReductionsReport, RunReductions

HARMONIC_MEAN = (
    "Harmonic mean of accuracy and 1 - ACE (Kissling et al. 2026, appendix B), without interval; larger is better."
)
COLUMNS: tuple[Cells[ReductionNumbers], ...] = (
    cells("accuracy", "accuracy", lambda numbers: numbers.accuracy, "larger"),
    cells("ACE", "ace", lambda numbers: numbers.ace, "smaller"),
    cells("harmonic mean", "harmonic_mean", lambda numbers: Estimate(numbers.harmonic_mean), "larger"),
)


def reductions_tables(report: ReductionsReport) -> tuple[Table, ...]:
    """A table for each run: accuracy and ACE of base and their harmonic mean under each reduction that it knows.

    Of three runs or more, their averages follow.
    """
    names = table_names("reductions", [run.facts for run in report.runs])
    averages = reduction_averages_table(report)
    tables = [table for run in report.runs for table in _run_tables(run, report, names[run.label])]
    return (*tables, *([] if averages is None else [averages]))


def _run_tables(run: RunReductions, report: ReductionsReport, name: TableName) -> Iterator[Table]:
    probe, size = run.manifest.probe.name, size_and_state(run.facts)
    layout = Layout[ReductionNumbers](
        f"Accuracy and calibration of {name.of} on {probe}, by reduction of token scores: {size}.",
        name.label,
        "reduction",
        lambda numbers: Row(numbers.reduction, keys={"reduction": numbers.reduction, "estimator": "base"}),
        COLUMNS,
    )
    yield layout.table(
        run.reductions,
        heading=heading(run.facts),
        lead=tuple(map(sentence, reductions_remarks(run))),
        general=(*score_notes("all", report.options), HARMONIC_MEAN),
        **of_run(run.facts),
    )
    if run.against is not None:
        yield against_table(run.facts, run.against, name)


def reductions_remarks(run: RunReductions) -> Iterator[str]:
    """The template of the numbers, and the numbers that a run lacks; one clause for each."""
    if run.template is None:
        yield "no accuracy: the run has neither template 0 nor a paraphrase"
    else:
        yield f"base: template {run.template}"
    if run.unknown:
        yield f"not known to this import: {', '.join(run.unknown)}"
