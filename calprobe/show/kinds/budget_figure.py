"""AUROC against the number of wordings at a fixed number of answers: a panel for each budget, a line a measure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from calprobe.metrics import Estimate
from calprobe.show.marks import Panel, Points, Scale, Series, grouped

APART = 0.06  # between the lines of two measures, of the distance of two plans


@dataclass(frozen=True, slots=True)
class BudgetPanel:
    """Plans that spend the same number of answers on a question, for one set under one variant."""

    title: str
    reading: str  # pooled, majority, greedy: which correctness the AUROC takes
    plans: tuple[str, ...]  # (n_p, n_s), by number of wordings
    measures: tuple[str, ...]
    places: tuple[int, ...]  # [measures], in the palette, the same in all panels
    values: tuple[tuple[Estimate | None, ...], ...]  # [measures][plans]; None: the plan has no such part

    @property
    def panel(self) -> Panel:
        """A line for each measure, a little beside those of others."""
        ticks = tuple((float(at), plan) for at, plan in enumerate(self.plans))
        across = Scale("wordings and samples of each", ends=(-0.4, len(self.plans) - 0.6), ticks=ticks)
        series = tuple(Series(name, self.places[at], (self._line(at),)) for at, name in enumerate(self.measures))
        label = f"AUROC of each uncertainty by plan, {self.title}."
        return Panel(self.title, across, Scale(f"AUROC, {self.reading}"), series, label=label, size=(2.6, 2.8))

    def _line(self, place: int) -> Points:
        shift = APART * (place - (len(self.measures) - 1) / 2)
        return replace(grouped(self.plans, self.measures[place], self.values[place], shift), joined=True)
