"""AUROC against the number of wordings at a fixed number of answers: a panel for each budget, a line a measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calprobe.analysis.marks import Panel, Points, Scale, Series
from calprobe.analysis.number_text import spelled
from calprobe.analysis.plots import paper
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.metrics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 2.6, 2.8  # of a panel, inches
APART = 0.06  # between the lines of two measures, of the distance of two plans


@dataclass(frozen=True, slots=True)
class BudgetPanel:
    """The plans of one number of answers, of one set under one variant."""

    title: str
    reading: str  # pooled, majority, greedy: which correctness the AUROC takes
    plans: tuple[str, ...]  # (n_p, n_s), by number of wordings
    measures: tuple[str, ...]
    places: tuple[int, ...]  # [measures], in the palette, the same in all panels
    values: tuple[tuple[Estimate | None, ...], ...]  # [measures][plans]; None: the plan has no such part


def composed(own: BudgetPanel) -> Panel:
    """A line for each measure, a little beside those of others."""
    across = Scale("wordings and samples of each", ends=(-0.4, len(own.plans) - 0.6), ticks=tuple(enumerate(own.plans)))
    series = tuple(Series(name, own.places[at], (_line(own, at),)) for at, name in enumerate(own.measures))
    return Panel(own.title, across, Scale(f"AUROC, {own.reading}"), series)


def _line(own: BudgetPanel, place: int) -> Points:
    shift = APART * (place - (len(own.measures) - 1) / 2)
    known = {at: value for at, value in enumerate(own.values[place]) if value is not None}
    said = tuple(f"{own.measures[place]}, {own.plans[at]}: {spelled(value)}" for at, value in known.items())
    return Points(tuple(at + shift for at in known), tuple(known.values()), said, joined=True)


def draw_budgets(panels: Sequence[BudgetPanel], look: Look = DEFAULT_LOOK) -> Figure:
    """A panel for each, with 95 % intervals over questions."""
    return paper.draw([composed(own) for own in panels], look, SIZE)
