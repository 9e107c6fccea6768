"""The published tables of the study of wordings (Cox et al. 2025), with the rows of one's own runs below them.

Below each row of means is one of standard deviations: over five runs there, over the draws of a plan in one's own.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.results import AskedRunReport, CellBudget, CellReport
from calprobe.analysis.tables.labels import table_labels
from calprobe.analysis.tables.types import Column, Row, Table

WORDING2025 = "wording2025"
# The paper's measures -> one's own.
MEASURES: Mapping[str, str] = {
    "Entropy": "answer_entropy",
    "LexiSim": "lexsim",
    "SE": "semantic_entropy",
    "U_EigV": "eigv",
    "Var_Tot": "variance_total",
    "Var_AU": "variance_within",
    "Var_EU": "variance_between",
}
POINTS = "laplacian"  # what the paper takes the variance of
SCRAMBLED = (
    "A published rho above its baseline shows no effect of the wording: the released code of the study reshapes "
    "projections of shape [k, m] to (n_p, n_s, k) without transposing them, so that groups mix answers of different "
    "wordings. Answers that no wording moves give .24 .34 .42 .58 for (2, 6) (3, 4) (4, 3) (6, 2) in that way, and "
    ".09 .18 .27 .45 = (n_p - 1) / (m - 1) rightly. That the code made the published numbers is likely, not proven"
)
EPSILON = (
    "rho is a mean over questions of (between + 1e-4) / (total + 2e-4): 1/2 for a question with one answer. Read "
    "ratio against by chance, and rho*, which is 0 where no wording matters"
)


@cache
def published_wording() -> Mapping[str, Any]:
    """The figures, as they stand in wording2025.json: percentages."""
    text = files("calprobe.analysis.asked").joinpath(f"{WORDING2025}.json").read_text("utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def published_wording_tables(report: AskedReport) -> tuple[Table, ...]:
    """AUROC by plan, and rho by plan; one's own rows are there where `--budget` draws the plans."""
    found = published_wording()
    budgets = [
        (run, f"{own.name}, {cell.variant}", cell, budget)
        for run in report.runs
        for own in run.sets.values()
        for cell in own.cells.values()
        for budget in cell.budgets
    ]
    labels = list(table_labels(WORDING2025, [found[key]["table"] for key in ("auroc", "rho")]))
    hint = () if budgets else ("One's own rows are there with --budget 6,12.",)
    return (
        _table(found["auroc"], labels[0], "AUROC, pooled", found["auroc"]["columns"], tuple(_aurocs(budgets)), hint),
        _table(
            found["rho"],
            labels[1],
            "Share of the wording, with the AUROC of the total variance",
            ("auroc", "rho", "baseline", "ratio", "by chance", "rho*"),
            tuple(_shares(budgets)),
            (f"{SCRAMBLED}.", f"{EPSILON}.", *hint),
        ),
    )


Budgets = list[tuple[AskedRunReport, str, CellReport, CellBudget]]


def _aurocs(budgets: Budgets) -> Iterator[Row]:
    columns = published_wording()["auroc"]["columns"]
    own: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = {}
    draws = {(run.label, name): budget.draws for run, name, _, budget in budgets}
    for run, name, _, budget in budgets:
        for found in budget.aurocs:
            measure = next((said for said, its in MEASURES.items() if its == found.measure), None)
            if measure is not None and found.reading == "pooled":
                known = own.setdefault((run.label, name, measure), {})
                known[str(found.plan)] = (found.value.value, found.deviation)
    for (label, name, measure), values in own.items():
        if any(column in values for column in columns):
            pairs = [values.get(column, (None, None)) for column in columns]
            yield from _rows(label, f"{name}, {measure}", pairs, f"{draws[label, name]} draws", "Table 1")


def _shares(budgets: Budgets) -> Iterator[Row]:
    for run, name, _, budget in budgets:
        total = {
            o.plan: (o.value.value, o.deviation)
            for o in budget.aurocs
            if (o.measure, o.reading) == ("variance_total", "pooled")
        }
        for own in budget.shares:
            if own.points == POINTS:
                shares = {field: (own.means[field], own.deviations[field]) for field in own.means}
                pairs = [
                    *(total.get(own.plan, (None, None)), shares["rho"], (1 / own.plan.samples, None)),
                    *(shares["ratio_of_sums"], shares["by_chance"], shares["unbiased"]),
                ]
                yield from _rows(run.label, f"{name} {own.plan}", pairs, f"{budget.draws} draws", "Table 2")


def _rows(
    of: str, label: str, pairs: Sequence[tuple[float | None, float | None]], over: str, table: str
) -> Iterator[Row]:
    """Means, and their standard deviations below; these only where there are any."""
    means, deviations = zip(*pairs, strict=True)
    yield Row(label, means, group=of, keys={"run": of, "row": label, "paper_table": table, "statistic": "mean"})
    if any(value is not None and not math.isnan(value) for value in deviations):
        keys = {"run": of, "row": label, "paper_table": table, "statistic": "sd"}
        yield Row(f"  SD over {over}", deviations, group=of, keys=keys, of=label)


def _table(
    found: Mapping[str, Any],
    label: str,
    caption: str,
    columns: tuple[str, ...],
    own: tuple[Row, ...],
    notes: tuple[str, ...],
) -> Table:
    published = [
        row
        for name, values in found["rows"].items()
        for row in _rows(
            "published",
            name,
            list(zip(_shown(values, columns), _shown(found["deviations"][name], columns), strict=True)),
            "5 runs",
            found["table"],
        )
    ]
    return Table(
        caption=f"{caption}: {found['table']} of Cox et al. 2025 ({found['model']}), and one's own.",
        label=label,
        kind="paper",
        stub="of",
        columns=tuple(Column(name, keys={"quantity": name}) for name in columns),
        rows=(*published, *own),
        notes=notes,
        best_within=None,
    )


def _shown(percentages: list[float | None], columns: Sequence[str]) -> tuple[float | None, ...]:
    """Shares of published percentages, as many as the table has columns."""
    values = [None if value is None else value / 100 for value in percentages]
    return (*values, *(None,) * (len(columns) - len(values)))
