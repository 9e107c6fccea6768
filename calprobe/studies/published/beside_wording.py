"""The published tables of the study of wordings (Cox et al. 2025), with the rows of one's own runs below them.

A row's deviations are over five runs there, over the draws of a plan in one's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.published.beside import Beside, BesideRow, published
from calprobe.studies.wording.results import CellBudget

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


def beside_wording(report: AskedReport) -> tuple[Beside, ...]:
    """AUROC by plan, and rho by plan; one's own rows are there where `--budget` draws the plans."""
    tables = published(WORDING2025)
    budgets = [
        (run, f"{set_report.name}, {cell.variant}", cell, budget)
        for run in report.runs
        for set_report in run.sets.values()
        for cell in set_report.cells.values()
        for budget in cell.budgets
    ]
    hint = () if budgets else ("One's own rows are there with --budget 6,12.",)
    return (
        tables["auroc"].below(_aurocs(budgets), *hint),
        tables["rho"].below(_shares(budgets), f"{SCRAMBLED}.", f"{EPSILON}.", *hint),
    )


Budgets = list[tuple[AskedRunReport, str, CellReport, CellBudget]]


def _aurocs(budgets: Budgets) -> Iterator[BesideRow]:
    columns = published(WORDING2025)["auroc"].columns
    rows: dict[tuple[str, str, str], dict[str, tuple[float, float]]] = {}
    draws = {(run.label, name): budget.draws for run, name, _, budget in budgets}
    for run, name, _, budget in budgets:
        for auroc in budget.aurocs:
            measure = next((title for title, its in MEASURES.items() if its == auroc.measure), None)
            if measure is not None and auroc.reading == "pooled":
                row = rows.setdefault((run.label, name, measure), {})
                row[str(auroc.plan)] = (auroc.value.value, auroc.deviation)
    for (label, name, measure), values in rows.items():
        if any(column in values for column in columns):
            pairs = [values.get(column, (None, None)) for column in columns]
            yield _row(label, f"{name}, {measure}", pairs, draws[label, name])


def _shares(budgets: Budgets) -> Iterator[BesideRow]:
    for run, name, _, budget in budgets:
        total = {
            auroc.plan: (auroc.value.value, auroc.deviation)
            for auroc in budget.aurocs
            if (auroc.measure, auroc.reading) == ("variance_total", "pooled")
        }
        for share in budget.shares:
            if share.points == POINTS:
                shares = {field: (share.means[field], share.deviations[field]) for field in share.means}
                pairs = [
                    *(total.get(share.plan, (None, None)), shares["rho"], (1 / share.plan.samples, None)),
                    *(shares["ratio_of_sums"], shares["by_chance"], shares["unbiased"]),
                ]
                yield _row(run.label, f"{name} {share.plan}", pairs, budget.draws)


def _row(of: str, label: str, pairs: Sequence[tuple[float | None, float | None]], draws: int) -> BesideRow:
    """Means and their standard deviations over the draws."""
    means, deviations = zip(*pairs, strict=True)
    return BesideRow(of, label, means, deviations, f"{draws} draws")
