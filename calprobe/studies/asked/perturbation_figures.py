"""The figure of perturbations: accuracy and AUROC of variants with samples, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from calprobe.metrics import Estimate
from calprobe.show.kinds.grouped_dots import GroupedDots
from calprobe.studies.asked.cell_results import CellReport
from calprobe.studies.asked.results import AskedRunReport
from calprobe.studies.wording.results import BudgetPlan

# What perturbations are compared by: the paper's measure where answers were judged, else one that needs no model.
MEASURES = ("variance_total", "answer_entropy")
Group = tuple[str, tuple[Estimate, Estimate]]  # its name, its accuracy and AUROC


def perturbation_panels(run: AskedRunReport) -> tuple[GroupedDots, ...]:
    """A panel for each set with several variants of samples: accuracy, and the AUROC of one uncertainty, pooled.

    The uncertainty is the first of MEASURES that every variant has an AUROC of; a set without one has no panel. With a
    budget that every variant has, each is shown by its plan with the most wordings, so that all uncertainties are of
    equally many answers; the first variant also by one wording with all samples, which is no perturbation. Accuracy is
    that of the answers that plans are drawn from, so that both numbers leave out the question's own text alike.
    """
    return tuple(
        panel
        for report in run.sets.values()
        for cells in [[cell for cell in report.cells.values() if cell.samples is not None]]
        if len(cells) > 1
        for panel in [_panel(report.name, cells)]
        if panel is not None
    )


def _panel(name: str, cells: Sequence[CellReport]) -> GroupedDots | None:
    for answers in _budgets(cells):
        for measure in MEASURES:
            planned = [list(_planned(cell, measure, answers, both=not at)) for at, cell in enumerate(cells)]
            groups = [group for of_cell in planned for group in of_cell]
            if all(planned) and all(np.isfinite(auroc.value) for _, (_, auroc) in groups):
                return _dots(f"{name}: {measure}, {answers} answers", groups)
    for measure in MEASURES:
        aurocs = [cell.estimators[measure].metrics.get("auroc") for cell in cells if measure in cell.estimators]
        finite = [auroc for auroc in aurocs if auroc is not None and np.isfinite(auroc.value)]
        if len(finite) == len(cells):
            rows = zip(cells, finite, strict=True)
            return _dots(f"{name}: {measure}", [(cell.variant, (_accuracy(cell), auroc)) for cell, auroc in rows])
    return None


def _budgets(cells: Sequence[CellReport]) -> list[int]:
    """The numbers of answers that every variant has plans for."""
    first, *others = ([budget.answers for budget in cell.budgets] for cell in cells)
    return [answers for answers in first if all(answers in numbers for numbers in others)]


def _planned(cell: CellReport, measure: str, answers: int, *, both: bool) -> Iterator[Group]:
    """A variant by its plan with the most wordings, and before it, where both are wanted, by that with one."""
    (budget,) = (budget for budget in cell.budgets if budget.answers == answers)
    most = max(budget.plans, key=lambda plan: plan.wordings)
    aurocs = {
        auroc.plan: auroc.value for auroc in budget.aurocs if (auroc.measure, auroc.reading) == (measure, "pooled")
    }
    for plan in dict.fromkeys((*((BudgetPlan(1, answers),) if both else ()), most)):
        if plan in aurocs:
            yield f"{cell.variant}_{plan}", (budget.accuracy, aurocs[plan])


def _accuracy(cell: CellReport) -> Estimate:
    return cell.accuracy[cell.reader].value


def _dots(title: str, groups: Sequence[Group]) -> GroupedDots:
    names, values = tuple(name for name, _ in groups), tuple(estimates for _, estimates in groups)
    return GroupedDots(title, "accuracy, AUROC", "variant", names, ("accuracy", "AUROC"), values)
