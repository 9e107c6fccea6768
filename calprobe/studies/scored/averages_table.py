"""Tables over runs: the models with their sizes, and means over all runs, over those of a kind and of a family."""

from __future__ import annotations

from collections.abc import Iterable

from calprobe.measures.model_families import family_of
from calprobe.measures.run_names import last_names
from calprobe.messages import counted
from calprobe.show.prose import mean_accuracy_name
from calprobe.show.tables.labels import about
from calprobe.show.tables.layout import UNRANKED, Cells, Layout, Numbers, cells, filled
from calprobe.show.tables.types import Column, Row, Table
from calprobe.studies.scored.averages import FEWEST_RUNS, Average, averages, reduction_averages
from calprobe.studies.scored.reductions import ReductionsReport
from calprobe.studies.scored.results import Report, RunReport

GROUPS = {"all": "", "kind": "by kind of model", "family": "by family of models"}
ALIKE = "Means over the runs, each with the same weight. They have no interval: models are chosen, not drawn."
REDUCTION_METRICS = {"accuracy": "accuracy", "ace": "ACE", "harmonic_mean": "harmonic mean"}
WITHOUT_INTERVALS = {**UNRANKED, "intervals": False}


def models_table(report: Report) -> Table | None:
    """A row a run: kind, family, parameters, accuracies, as in the paper's Table 3; None for fewer than three runs."""
    if len(report.runs) < FEWEST_RUNS:
        return None
    names = last_names([run.label for run in report.runs])
    return Layout[RunReport](
        "Models, by run.",
        "models",
        "run",
        lambda run: Row(names[run.label], keys={"run": run.label}, about=about(run.facts)),
        (
            cells("model", "model", lambda run: run.facts.model),
            cells("kind", "kind", lambda run: run.manifest.model.kind),
            cells("family", "family", lambda run: family_of(run.facts.model), printed=False),
            cells("parameters", "parameters", _parameters),
            cells("accuracy", "accuracy", lambda run: run.accuracy),
            cells(mean_accuracy_name([run.facts for run in report.runs]), "bear_score", lambda run: run.bear_score),
        ),
        kind="models",
        more={**WITHOUT_INTERVALS, "tidy": False},
    ).table(report.runs)


def _parameters(run: RunReport) -> int | None:
    size = run.manifest.model.size
    return None if size is None else size.parameters


def averages_table(report: Report, columns: Iterable[Column]) -> Table | None:
    """A row a group of runs, with these columns of the summary's; None where there are no groups."""
    groups = averages(report)
    if not groups:
        return None
    return Layout[Average](
        "Accuracy and calibration, averaged over runs.",
        "averages",
        "mean over",
        lambda average: Row(_named(average), group=GROUPS[average.group], keys=_keys(average)),
        filled(map(_mean, columns), groups),
        (ALIKE,),
        kind="averages",
        more=WITHOUT_INTERVALS,
    ).table(groups)


def reduction_averages_table(report: ReductionsReport) -> Table | None:
    """A group of rows for each group of runs, a row a reduction: the paper's Figure 8; None without groups."""
    rows = [
        Numbers(
            Row(
                reduction,
                group=f"mean over {_named(average)}",
                keys={**_keys(average), "reduction": reduction, "estimator": "base"},
            ),
            numbers,
        )
        for average in reduction_averages(report)
        for reduction, numbers in average.estimators.items()
    ]
    if not rows:
        return None
    return Layout[Numbers](
        "Accuracy and calibration by reduction, averaged over runs.",
        "reduction-averages",
        "reduction",
        lambda row: row.head,
        tuple(_of_reduction(title, metric) for metric, title in REDUCTION_METRICS.items()),
        (ALIKE,),
        kind="averages",
        more=WITHOUT_INTERVALS,
    ).table(rows)


def _mean(column: Column) -> Cells[Average]:
    """A column of the summary's, of means: of the runs' own numbers, or of an estimator's."""
    estimator, metric = column.keys.get("estimator"), column.keys["metric"]

    def mean(average: Average) -> float | None:
        numbers = average.numbers if estimator is None else average.estimators.get(estimator, {})
        return numbers.get(metric)

    return Cells(column, mean)


def _of_reduction(title: str, metric: str) -> Cells[Numbers]:
    return cells(title, metric, lambda row: row.cells.get(metric))


def _named(average: Average) -> str:
    """causal (10 runs)."""
    return f"{average.name} ({counted(len(average.runs), 'run')})"


def _keys(average: Average) -> dict[str, str]:
    return {"group": average.group, "mean_over": average.name, "runs": str(len(average.runs))}
