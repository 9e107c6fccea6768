"""The tables of plans: how well uncertainties order answers, and the share of the wording, by n_p and n_s."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from calprobe.messages import counted
from calprobe.show.tables.layout import Cells, Layout, cells
from calprobe.show.tables.types import Row, Table
from calprobe.studies.wording.layouts import COLUMNS
from calprobe.studies.wording.results import BudgetAuroc, BudgetPlan, BudgetShare, CellBudget

READINGS = ("pooled", "majority", "greedy")
SHOWN = ("rho", "ratio_of_sums", "by_chance", "unbiased")
Aurocs = Mapping[BudgetPlan, BudgetAuroc]  # of one uncertainty
Budgets = Sequence[tuple[str, CellBudget]]  # of one number of answers, with their variants


def budget_tables(by_variant: Mapping[str, Sequence[CellBudget]]) -> Iterator[Table]:
    """Two tables for each number of answers; none where no plans were asked for."""
    budgets = [(variant, budget) for variant, of_variant in by_variant.items() for budget in of_variant]
    for answers in dict.fromkeys(budget.answers for _, budget in budgets):
        matching = [(variant, budget) for variant, budget in budgets if budget.answers == answers]
        yield from (table for table in (_aurocs(answers, matching), _shares(answers, matching)) if table.rows)


def _keys(plan: BudgetPlan) -> dict[str, str]:
    return {"n_p": str(plan.wordings), "n_s": str(plan.samples)}


def _aurocs(answers: int, budgets: Budgets) -> Table:
    plans = dict.fromkeys(plan for _, budget in budgets for plan in budget.plans)
    draws, questions = budgets[0][1].draws, min(budget.questions for _, budget in budgets)
    layout = Layout[Aurocs].given(
        f"AUROC of plans of {counted(answers, 'answer')}",
        f"budget-{answers}",
        "uncertainty",
        *[column for plan in plans for column in _plan(plan)],
        notes=(
            f"(n_p, n_s): n_s samples of each of n_p wordings, drawn {counted(draws, 'time')} from the same replies to "
            f"{counted(questions, 'question')}; means over draws, with intervals over questions; SD: over the draws.",
        ),
        kind="budget",
    )
    return layout.of_rows(row for variant, budget in budgets for row in _auroc_rows(variant, budget))


def _plan(plan: BudgetPlan) -> tuple[Cells[Aurocs], Cells[Aurocs]]:
    """A plan's value and deviation."""
    return (
        cells(str(plan), "auroc", lambda aurocs: aurocs[plan].value if plan in aurocs else None, keys=_keys(plan)),
        cells(
            "SD",
            "auroc_sd",
            lambda aurocs: aurocs[plan].deviation if plan in aurocs else None,
            keys=_keys(plan),
            ranked=False,
        ),
    )


def _auroc_rows(variant: str, budget: CellBudget) -> Iterator[tuple[Row, Aurocs]]:
    for reading in READINGS:
        for measure in dict.fromkeys(auroc.measure for auroc in budget.aurocs):
            aurocs = {
                auroc.plan: auroc for auroc in budget.aurocs if (auroc.measure, auroc.reading) == (measure, reading)
            }
            if aurocs:
                keys = {"variant": variant, "estimator": measure, "reading": reading, "answers": str(budget.answers)}
                yield Row(measure, group=f"{variant}, {reading}", keys=keys), aurocs


def _field(name: str) -> tuple[Cells[BudgetShare], Cells[BudgetShare]]:
    """The mean of a field of the share of the wording, and its deviation."""
    return (
        cells(COLUMNS[name], f"wording_{name}", lambda share: share.means[name]),
        cells("SD", f"wording_{name}_sd", lambda share: share.deviations[name], ranked=False),
    )


def _shares(answers: int, budgets: Budgets) -> Table:
    layout = Layout[BudgetShare].given(
        f"Share of the wording under plans of {counted(answers, 'answer')}",
        f"budget-wording-{answers}",
        "plan",
        *[column for name in SHOWN for column in _field(name)],
        notes=("by chance: what ratio is where no wording matters; rho*: 0 where none matters, under every plan.",),
        kind="budget",
    )
    return layout.of_rows(
        (
            Row(
                str(share.plan),
                group=f"{variant}, {share.points}",
                keys={"variant": variant, "points": share.points, **_keys(share.plan), "answers": str(answers)},
            ),
            share,
        )
        for variant, budget in budgets
        for share in sorted(budget.shares, key=lambda share: share.points)
    )
