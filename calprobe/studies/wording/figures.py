"""Figures of the wording: AUROC of plans of fewer answers, and the share of the wording by the number of samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from calprobe.show.kinds.budget_figure import BudgetPanel
from calprobe.show.kinds.share_figure import EXACT, SHARES, SharePanel
from calprobe.show.marks import Figures
from calprobe.studies.wording.results import CellBudget, CellWording


class Planned(Protocol):
    """What the figures take of the report of a cell."""

    @property
    def budgets(self) -> tuple[CellBudget, ...]:
        """Plans of fewer answers."""

    @property
    def wording(self) -> tuple[CellWording, ...]:
        """The exact shares of the wording."""


def wording_figures(planned: Mapping[str, Planned]) -> Iterator[Figures]:
    """Those of the cells of a run, by their titles."""
    yield Figures(
        "budget",
        budget_panels(planned),
        "Plans on {0.title}",
        "AUROC ({0.reading}) of each uncertainty, with n_s samples of each of n_p wordings taken from the same "
        "replies: means over draws, with 95 % intervals over questions.",
    )
    yield Figures(
        "wording",
        share_panels(planned),
        "Share of the wording on {0.title}",
        "Of samples taken from the same replies: means over draws, with bars of one standard deviation. By chance: "
        "what the ratio is where no wording matters.",
    )


def budget_panels(planned: Mapping[str, Planned]) -> tuple[BudgetPanel, ...]:
    """A panel for each budget, in the reading that all of them have and that isolates the uncertainty best."""
    cells = {title: cell for title, cell in planned.items() if cell.budgets}
    readings = [
        {auroc.reading for auroc in budget.aurocs if np.isfinite(auroc.value.value)}
        for cell in cells.values()
        for budget in cell.budgets
    ]
    reading = next(
        (name for name in ("greedy", "majority", "pooled") if all(name in names for names in readings)), "pooled"
    )
    measures = list(
        dict.fromkeys(auroc.measure for cell in cells.values() for budget in cell.budgets for auroc in budget.aurocs)
    )
    panels = (
        _budget_panel(f"{title}: {budget.answers} answers", budget, reading, measures)
        for title, cell in cells.items()
        for budget in cell.budgets
        if budget.aurocs
    )
    # Where all answers are right, or all wrong, there is no AUROC to draw.
    return tuple(
        panel
        for panel in panels
        if any(estimate and np.isfinite(estimate.value) for row in panel.values for estimate in row)
    )


def _budget_panel(title: str, budget: CellBudget, reading: str, measures: Sequence[str]) -> BudgetPanel:
    estimates = {(auroc.measure, auroc.plan): auroc.value for auroc in budget.aurocs if auroc.reading == reading}
    names = [name for name in measures if any(measure == name for measure, _ in estimates)]
    return BudgetPanel(
        title,
        reading,
        tuple(map(str, budget.plans)),
        tuple(names),
        tuple(measures.index(name) for name in names),
        tuple(tuple(estimates.get((name, plan)) for plan in budget.plans) for name in names),
    )


def share_panels(planned: Mapping[str, Planned]) -> tuple[SharePanel, ...]:
    """A panel for each way to put answers as points, where plans with all wordings differ in their samples."""
    return tuple(
        panel
        for title, cell in planned.items()
        for points in dict.fromkeys(share.points for budget in cell.budgets for share in budget.shares)
        if (panel := _share_panel(f"{title}: {points}", cell, points)) is not None
    )


def _share_panel(title: str, cell: Planned, points: str) -> SharePanel | None:
    shares = {share.plan: share for budget in cell.budgets for share in budget.shares if share.points == points}
    most = max(plan.wordings for plan in shares)
    plans = sorted((plan for plan in shares if plan.wordings == most), key=lambda plan: plan.samples)
    if len(plans) < 2:
        return None
    exact = next((wording.share for wording in cell.wording if wording.points == EXACT and points == "one_hot"), None)
    return SharePanel(
        title,
        most,
        tuple(plan.samples for plan in plans),
        {name: tuple((shares[p].means[name], shares[p].deviations[name]) for p in plans) for name in SHARES},
        {} if exact is None else {name: getattr(exact, name) for name in SHARES},
    )
