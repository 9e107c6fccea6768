"""A report of asked runs at a glance: a verdict on each run, then what it answers and how its confidences do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from calprobe.metrics import Metric
from calprobe.metrics.error_shown import chance_shown, columns_shown
from calprobe.show.prose import sentence
from calprobe.show.tables.layout import UNRANKED, Layout, cells, metrics, where
from calprobe.show.tables.shorter import ALIKE, FEW, at_a_glance, others_named
from calprobe.show.tables.side_by_side import comparison_at_a_glance, lettered, sides_of_one
from calprobe.show.tables.types import Row, Table, unless_nan
from calprobe.show.verdict import decimals_of
from calprobe.studies.asked.accuracy_layouts import Answered, answered, mass_columns
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.asked_tables import ON_TERMINALS, heading
from calprobe.studies.asked.compared import AskedComparison
from calprobe.studies.asked.compared_layouts import compared_heading, compared_sides, compared_warnings
from calprobe.studies.asked.overall import OF_RUN, Overall, overall_by, probabilities_of, usual_cells
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.asked.run_studies import STUDIES
from calprobe.studies.asked.run_verdict import MOST, verdict
from calprobe.studies.asked.sample_layouts import few_outcomes, unequal_samples
from calprobe.studies.stated.stated_cells import AS_SAID

MANY_RUNS = 4
FEW_OUTCOMES = "Warning: AUROC rests on few right or few wrong answers, and has no interval."
MOST_ROWS = 8  # of all runs together, on one screen
# Of a disclosure what a reader of these numbers has to know at once.
AT_ONCE = ON_TERMINALS - {"answers", "tokens", "asked by", "model"}


def tables_at_a_glance(report: AskedReport, tables: Sequence[Table], wanted: Sequence[str] = ()) -> tuple[Table, ...]:
    """The verdict on each run with two tables at most, for a terminal.

    Args:
        report: of one run or several.
        tables: all that the report has, which the last sentence names.
        wanted: kinds of further tables that options have asked for.
    """
    if not any(run.sets for run in report.runs):
        return tuple(tables)
    most = MOST if len(report.runs) == 1 else 1
    told = len(report.runs) <= MANY_RUNS  # of more runs, tables alone tell the numbers
    lines = [line for run in report.runs for line in (*heading(run), *(verdict(run, most) if told else run.warnings))]
    head = Table("", "verdict", "", (), (), heading=tuple(lines), keys={"run": report.runs[0].label}, **UNRANKED)
    shown = (_of_study(report, tables) if len(report.runs) == 1 else []) or [*_answers(report), _confidences(report)]
    shown += [table for table in tables if table.kind in wanted and table not in shown]
    shown = [replace(table, heading=(), notes=_needed(table), fine_print=()) for table in shown if table.rows]
    notes = tuple(dict.fromkeys(note for run in report.runs for note in _disclosed(run)))
    last = Table("", "more", "", (), (), notes=notes, options=others_named(shown, tables), **UNRANKED)
    return (head, *shown, last)


def compared_at_a_glance(comparison: AskedComparison, tables: Sequence[Table]) -> tuple[Table, ...]:
    """The verdict on each pair of runs, or of variants of one, and their numbers, for a terminal."""
    pairs = compared_sides(comparison)
    runs = [
        f"{letter}{line}"
        for letter, line in zip(
            (letter for letter, _ in lettered(comparison.runs, pairs)), compared_heading(comparison), strict=True
        )
    ]
    left_out = [sentence(clause) for pair in comparison.pairs for clause in pair.left_out]
    warnings = compared_warnings(comparison.runs)
    heading = (*runs, *sides_of_one(comparison.runs, pairs), *left_out[:2], *warnings)
    return comparison_at_a_glance(comparison, pairs, heading, tables, "the questions")


def _of_study(report: AskedReport, tables: Sequence[Table]) -> list[Table]:
    """The first table of each kind that a study is about, of each run."""
    kinds = {kind for run in report.runs for key in run.studies for kind in STUDIES[key].at_a_glance}
    first: dict[tuple[str, str], Table] = {}
    for table in tables:
        if table.kind in kinds:
            first.setdefault((table.kind, table.keys.get("run", "")), table)
    digits = decimals_of(max(of_set.answered for run in report.runs for of_set in run.sets.values()))
    shorter = [at_a_glance(_as_said(table), digits) for table in first.values()]
    few = sum(len(table.rows) for table in shorter) <= FEW
    return [replace(table, intervals=few) for table in shorter]


def _as_said(table: Table) -> Table:
    """The table without the rows of another way to read what was stated, which stand below those of the reply."""
    ways = {row.keys.get("reading") for row in table.rows}
    if AS_SAID not in ways:
        return table
    return replace(table, rows=tuple(row for row in table.rows if row.keys.get("reading") == AS_SAID))


def _answers(report: AskedReport) -> Iterator[Table]:
    """Accuracy by variant; of several sets or runs a row each, in the mean over its variants."""
    sets = [(run, name) for run in report.runs for name in run.sets]
    if len(sets) == 1:
        (run, name), *_ = sets
        variants = list(answered(run.sets[name]))
        yield at_a_glance(_of_variants(variants).of_rows(variants), decimals_of(run.sets[name].answered))
        return
    if len(sets) == len(report.runs) <= MANY_RUNS:
        return  # the verdict on each run has its accuracy
    rows = [
        (Row(name, group=run.label if len(report.runs) > 1 else ""), overall)
        for run, name in sets
        if (overall := overall_by(run, None, name)) is not None
    ]
    yield at_a_glance(OF_SETS.of_rows(rows), decimals_of(max((overall.questions for _, overall in rows), default=0)))


def _of_variants(rows: Sequence[tuple[Row, Answered]]) -> Layout[Answered]:
    with_mass = mass_columns([variant for _, variant in rows], "mass outside labels")
    return Layout[Answered].given(
        "Accuracy of what is read from replies, by variant",
        "glance-answers",
        "variant",
        cells("n", "n", lambda variant: variant.report.rows),
        cells("chance", "chance", lambda variant: unless_nan(variant.report.chance)),
        cells("accuracy", "accuracy", lambda variant: None if variant.first is None else variant.first.value),
        cells("unparsed", "unread", lambda variant: None if variant.first is None else variant.first.unread),
        *where(lambda variant: variant.off_label is not None, *with_mass),
        kind="answers",
    )


OF_SETS = Layout[Overall].given(
    "Accuracy by set of questions, mean over variants",
    "glance-answers",
    "set",
    cells("questions", "questions", lambda overall: overall.questions),
    cells("variants", "variants", lambda overall: overall.cells),
    cells("chance", "chance", lambda overall: unless_nan(overall.chance)),
    cells("accuracy", "accuracy", lambda overall: overall.metrics["accuracy"]),
    kind="answers",
)


def _confidences(report: AskedReport) -> Table:
    """A row a confidence and run: those of one cell with intervals, of several cells means."""
    rows, questions = [], 0
    for run in report.runs:
        for name in probabilities_of(usual_cells(run)):
            if (overall := overall_by(run, name)) is not None:
                questions = max(questions, overall.questions)
                rows.append((Row(name, group=run.label if len(report.runs) > 1 else ""), overall))
    several = any(overall.cells > 1 for _, overall in rows)
    missing = any(overall.coverage < 1 for _, overall in rows)
    layout = Layout[Overall].given(
        f"Confidence by estimator{', mean over variants' if several else ''}",
        "glance-confidence",
        "estimator",
        *([cells("n", "rows", lambda overall: overall.rows)] if missing else []),
        *metrics(_columns(report, questions), lambda overall: overall.metrics),
        kind="confidence",
    )
    cells_shown = [cell for run in report.runs for cell in usual_cells(run)]
    warnings = *unequal_samples(cells_shown), *([FEW_OUTCOMES] if any(few_outcomes(cells_shown, "probability")) else [])
    table = at_a_glance(layout.of_rows(rows, *warnings), decimals_of(questions))
    groups = [members for _, members in table.groups()]
    most = max(1, MOST_ROWS // max(1, len(groups)))
    first = tuple(row for members in groups for _, row in members[:most])
    return replace(table, rows=first)


def _columns(report: AskedReport, questions: int) -> list[Metric]:
    """The metrics that stand for a run, in the order of the large table."""
    few = any(run.few_values for run in report.runs)
    shown_names = {name for name in OF_RUN if not name.endswith("_p") and name != "brier"}
    shown = columns_shown(report.metrics, few_values=few, chance=chance_shown(questions, report.options.resampling))
    return [
        replace(metric, priority=metric.priority or 1)
        for metric in shown
        if metric.name in shown_names and metric.printed
    ]


def _needed(table: Table) -> tuple[str, ...]:
    """Of a table's notes the warnings, and what "= NAME" is: what columns mean is said with all tables."""
    return tuple(note for note in table.notes if note.startswith("Warning") or note == ALIKE)


def _disclosed(run: AskedRunReport) -> Iterator[str]:
    for title, text in run.disclosure.lines():
        if title in AT_ONCE and not (title == "failures" and text.startswith("0 requests failed")):
            yield f"{title}: {text}."
