"""The published tables of the study of stated confidence, with the rows of one's own runs below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from calprobe.metrics import Estimate
from calprobe.metrics.stated2025 import ECE_LOWER_EDGES, SMOOTH_ECE_RELPLOT10
from calprobe.studies.published.beside import Beside, BesideRow, published
from calprobe.studies.stated.fidelity import MEAN
from calprobe.studies.stated.results import StatedRun, StatedScope, StatedStudy
from calprobe.studies.stated.stated_cells import AS_SAID

STATED2025 = "stated2025"  # the file of its tables
AVERAGE = "Avg"  # over the prompts of the other columns
# The paper's columns -> how one's own groups and prompts may be called.
NAMES: Mapping[str, tuple[str, ...]] = {
    "Sca": ("scale",),
    "Lex": ("lexical",),
    "Lin": ("linguistic",),
    "Rev": ("reversed",),
    "P(1)": ("probability_1",),
    "P(%)": ("probability_percent",),
    "P(10)": ("probability_10",),
    "CF(1)": ("confidence_1",),
    "CT(1)": ("certainty_1",),
    "L.": ("expression",),
    "L. MC": ("letter", "L.MC"),
    "RP(1)": ("reversed_1", "AP(1)"),
    "RP(%)": ("reversed_percent", "AP(%)"),
    "RP(10)": ("reversed_10", "AP(10)"),
    AVERAGE: (MEAN,),
}
# The metric that may stand beside a published one, if the report has it, else the next.
BESIDE = {"ece": (ECE_LOWER_EDGES.name, "ece"), "smooth_ece": (SMOOTH_ECE_RELPLOT10.name,)}
NOT_BESIDE = (
    "The published values are those of relplot 1.0, which are too small, by half and more for confidences at 0 and 1; "
    "one's own stand beside them with --compat stated2025 alone."
)


def beside_stated(study: StatedStudy) -> tuple[Beside, ...]:
    """Each published table, and the same quantity of the runs where they have it."""
    return tuple(_table(study, key, table) for key, table in published(STATED2025).items())


def _table(study: StatedStudy, key: str, table: Beside) -> Beside:
    metrics = {metric.name for metric in study.metrics}
    metric = next((name for name in BESIDE.get(key, (key,)) if name in metrics), "")
    if metric and metric != key:
        table = replace(table, caption=f"{table.caption} ({metric})")
    rows = (row for run in study.runs for row in _own(run, key, metric, table.columns))
    return table.below(rows, *((NOT_BESIDE,) if key == "smooth_ece" and not metric else ()))


def _own(run: StatedRun, key: str, metric: str, columns: Sequence[str]) -> Iterator[BesideRow]:
    with_variant = len({scope.variant for scope in run.scopes}) > 1
    for scope in run.of(AS_SAID):
        by_column = {name: _value(scope, key, metric, name) for name in columns}
        if AVERAGE in by_column and None in (by_column[name] for name in by_column if name != AVERAGE):
            by_column[AVERAGE] = None  # it would be over other prompts than the published one
        values = tuple(by_column.values())
        if any(value is not None for value in values):
            yield BesideRow(run.label, f"{scope.variant}, {scope.name}" if with_variant else scope.name, values)


def _value(scope: StatedScope, key: str, metric: str, column: str) -> Estimate | None:
    for name in (column, *NAMES.get(column, ())):
        if key == "msd" and name in scope.deviations:
            return scope.deviations[name].msd
        if key == "fidelity" and name in scope.fidelity:
            return scope.fidelity[name].rate
        if metric and key not in ("msd", "fidelity") and name in scope.reliability:
            return scope.reliability[name].metrics.get(metric)
    return None
