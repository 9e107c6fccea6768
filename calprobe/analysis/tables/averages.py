"""Tables over runs: the models with their sizes, and means over all runs, over those of a kind and of a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calprobe.analysis.averages import FEWEST_RUNS, Average, averages, reduction_averages
from calprobe.analysis.plots.families import family_of
from calprobe.analysis.prose import mean_accuracy_name
from calprobe.analysis.reductions import ReductionsReport
from calprobe.analysis.results import Report
from calprobe.analysis.run_names import last_names
from calprobe.analysis.tables.labels import about
from calprobe.analysis.tables.types import Cell, Column, Row, Table
from calprobe.cells.run_facts import RunFacts
from calprobe.messages import counted

GROUPS = {"all": "", "kind": "by kind of model", "family": "by family of models"}
ALIKE = "Means over the runs, each with the same weight. They have no interval: models are chosen, not drawn."
REDUCTION_METRICS = {"accuracy": "accuracy", "ace": "ACE", "harmonic_mean": "harmonic mean"}


def models_table(report: Report) -> Table | None:
    """A row a run: kind, family, parameters, accuracies, as in the paper's Table 3; None for fewer than three runs."""
    if len(report.runs) < FEWEST_RUNS:
        return None
    names = last_names([run.label for run in report.runs])
    facts = [run.facts for run in report.runs]
    return Table(
        caption="Models, by run.",
        label="models",
        kind="models",
        stub="run",
        columns=(
            Column("model", keys={"metric": "model"}),
            Column("kind", keys={"metric": "kind"}),
            Column("family", keys={"metric": "family"}, printed=False),
            Column("parameters", keys={"metric": "parameters"}),
            Column("accuracy", keys={"metric": "accuracy"}),
            Column(mean_accuracy_name(facts), keys={"metric": "bear_score"}),
        ),
        rows=tuple(
            Row(
                names[run.label],
                (*_of_model(run.facts), run.accuracy, run.bear_score),
                keys={"run": run.label},
                about=about(run.facts),
            )
            for run in report.runs
        ),
        best_within=None,
        intervals=False,
        tidy=False,
    )


def _of_model(facts: RunFacts) -> tuple[Cell, ...]:
    model = facts.manifest.model
    return facts.model, model.kind, family_of(facts.model), None if model.size is None else model.size.parameters


def averages_table(report: Report, columns: Sequence[Column]) -> Table | None:
    """A row a group of runs, with these columns of the summary's; None where there are no groups."""
    found = averages(report)
    if not found:
        return None
    kept = [column for column in columns if any(_cell(own, column) is not None for own in found)]
    rows = [
        Row(_named(own), tuple(_cell(own, column) for column in kept), group=GROUPS[own.group], keys=_keys(own))
        for own in found
    ]
    return _table("Accuracy and calibration, averaged over runs.", "averages", "mean over", kept, rows)


def reduction_averages_table(report: ReductionsReport) -> Table | None:
    """A group of rows for each group of runs, a row a reduction: the paper's Figure 8; None without groups."""
    found = [own for own in reduction_averages(report) if own.estimators]
    if not found:
        return None
    rows = [
        Row(
            reduction,
            tuple(numbers.get(metric) for metric in REDUCTION_METRICS),
            group=f"mean over {_named(own)}",
            keys={**_keys(own), "reduction": reduction, "estimator": "base"},
        )
        for own in found
        for reduction, numbers in own.estimators.items()
    ]
    columns = [Column(title, keys={"metric": metric}) for metric, title in REDUCTION_METRICS.items()]
    caption = "Accuracy and calibration by reduction, averaged over runs."
    return _table(caption, "reduction-averages", "reduction", columns, rows)


def _cell(found: Average, column: Column) -> float | None:
    numbers: Mapping[str, float] = found.numbers
    if "estimator" in column.keys:
        numbers = found.estimators.get(column.keys["estimator"], {})
    return numbers.get(column.keys["metric"])


def _table(caption: str, label: str, stub: str, columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    return Table(
        caption=caption,
        label=label,
        kind="averages",
        stub=stub,
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(ALIKE,),
        best_within=None,
        intervals=False,
    )


def _named(found: Average) -> str:
    """causal (10 runs)."""
    return f"{found.name} ({counted(len(found.runs), 'run')})"


def _keys(found: Average) -> dict[str, str]:
    return {"group": found.group, "mean_over": found.name, "runs": str(len(found.runs))}
