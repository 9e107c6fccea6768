"""A grouped dot plot: names across, a dot with its interval for each series beside the others of its group."""

from __future__ import annotations

from dataclasses import dataclass

from calprobe.metrics import Estimate
from calprobe.show.marks import Line, Panel, Points, Scale, Series, beside, grouped


@dataclass(frozen=True, slots=True)
class GroupedDots:
    """The values of one panel."""

    title: str
    value: str  # what is measured, in [0, 1]
    group: str  # what a group is: a variant, an answer
    groups: tuple[str, ...]
    series: tuple[str, ...]
    values: tuple[tuple[Estimate | None, ...], ...]  # [groups][series]; None: there is none, and no dot
    chance: float | None = None
    reach: float = 0.5  # of a group's width, what its dots are spread over
    of: str = ""  # what the series are of, behind their names in a legend

    @property
    def legend(self) -> tuple[str, ...]:
        """What a legend calls the series."""
        return tuple(f"{name} {self.of}".rstrip() for name in self.series)

    @property
    def panel(self) -> Panel:
        """A dot for each series in each group, with chance as a line."""
        chance = () if self.chance is None else (Line((), (self.chance,), "reference", "chance"),)
        across, upward = Scale.of_names(self.group, self.groups), Scale(self.value, "share")
        series = tuple(Series(name, place, (self._dots(place),)) for place, name in enumerate(self.legend))
        label = f"{self.value[:1].upper()}{self.value[1:]} by {self.group}."
        return Panel(self.title, across, upward, series, chance, label=label, size=(2.8, 2.6))

    def _dots(self, place: int) -> Points:
        values = [row[place] for row in self.values]
        return grouped(self.groups, self.series[place], values, beside(place, len(self.series), self.reach))
