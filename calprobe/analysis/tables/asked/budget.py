"""The tables of plans: how well uncertainties order answers, and the share of the wording, by n_p and n_s."""

from __future__ import annotations

from collections.abc import Iterator

from calprobe.analysis.asked.results import CellReport, SetReport
from calprobe.analysis.asked.wording_results import BudgetPlan, CellBudget
from calprobe.analysis.tables.asked.wording import COLUMNS
from calprobe.analysis.tables.types import Column, Row, Table
from calprobe.messages import counted

SHOWN = ("rho", "ratio_of_sums", "by_chance", "unbiased")


def budget_tables(own: SetReport) -> Iterator[Table]:
    """Two tables for each number of answers; none where no plans were asked for."""
    answers = dict.fromkeys(found.answers for cell in own.cells.values() for found in cell.budgets)
    for m in answers:
        cells = [(cell, found) for cell in own.cells.values() for found in cell.budgets if found.answers == m]
        plans = tuple(dict.fromkeys(plan for _, found in cells for plan in found.plans))
        if any(found.aurocs for _, found in cells):
            yield _aurocs(m, cells, plans)
        if any(found.shares for _, found in cells):
            yield _shares(m, cells)


Cells = list[tuple[CellReport, CellBudget]]


def _aurocs(answers: int, cells: Cells, plans: tuple[BudgetPlan, ...]) -> Table:
    draws, questions = cells[0][1].draws, min(found.questions for _, found in cells)
    return Table(
        f"AUROC of plans of {counted(answers, 'answer')}",
        f"budget-{answers}",
        "uncertainty",
        tuple(
            column
            for plan in plans
            for column in (
                Column(str(plan), keys=_keys(plan, "auroc")),
                Column("SD", keys=_keys(plan, "auroc_sd"), ranked=False),
            )
        ),
        tuple(_row(cell, found, name, plans) for cell, found in cells for name in _names(found)),
        kind="budget",
        notes=(
            f"(n_p, n_s): n_s samples of each of n_p wordings, drawn {counted(draws, 'time')} from the same replies to "
            f"{counted(questions, 'question')}; means over draws, with intervals over questions; SD: over the draws.",
        ),
    )


def _keys(plan: BudgetPlan, metric: str) -> dict[str, str]:
    return {"metric": metric, "n_p": str(plan.wordings), "n_s": str(plan.samples)}


def _names(found: CellBudget) -> list[tuple[str, str]]:
    return sorted({(own.measure, own.reading) for own in found.aurocs}, key=lambda name: _order(found, name))


def _order(found: CellBudget, name: tuple[str, str]) -> tuple[int, int]:
    readings = ("pooled", "majority", "greedy")
    measures = list(dict.fromkeys(own.measure for own in found.aurocs))
    return readings.index(name[1]), measures.index(name[0])


def _row(cell: CellReport, found: CellBudget, name: tuple[str, str], plans: tuple[BudgetPlan, ...]) -> Row:
    known = {own.plan: own for own in found.aurocs if (own.measure, own.reading) == name}
    cells = [(known[plan].value, known[plan].deviation) if plan in known else (None, None) for plan in plans]
    return Row(
        name[0],
        tuple(value for pair in cells for value in pair),
        group=f"{cell.variant}, {name[1]}",
        keys={
            "variant": cell.variant,
            "estimator": name[0],
            "reading": name[1],
            "answers": str(found.answers),
        },
    )


def _shares(answers: int, cells: Cells) -> Table:
    return Table(
        f"Share of the wording under plans of {counted(answers, 'answer')}",
        f"budget-wording-{answers}",
        "plan",
        tuple(
            column
            for name in SHOWN
            for column in (
                Column(COLUMNS[name], keys={"metric": f"wording_{name}"}),
                Column("SD", keys={"metric": f"wording_{name}_sd"}, ranked=False),
            )
        ),
        tuple(
            Row(
                str(share.plan),
                tuple(value for name in SHOWN for value in (share.means[name], share.deviations[name])),
                group=f"{cell.variant}, {share.points}",
                keys={
                    "variant": cell.variant,
                    "points": share.points,
                    "n_p": str(share.plan.wordings),
                    "n_s": str(share.plan.samples),
                    "answers": str(answers),
                },
            )
            for cell, found in cells
            for share in sorted(found.shares, key=lambda own: own.points)
        ),
        kind="budget",
        notes=("by chance: what ratio is where no wording matters; rho*: 0 where none matters, under every plan.",),
        best_within=None,
    )
