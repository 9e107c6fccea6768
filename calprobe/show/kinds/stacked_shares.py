"""Stacked bars: for each set or run, the share of its confidences that each value has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from calprobe.show.marks import Panel, Scale, Tiles

BAR_INCHES, REST_INCHES = 0.26, 0.75  # heights: of a bar, and of title and axis


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a bar."""

    name: str  # the value as it is written, a range of values, or how many others there are
    share: float  # in (0, 1]
    value: float | None  # in [0, 1]; None: other values, grey

    @property
    def shade(self) -> float:
        """How dark it is, in [0, 1]: most confidences are stated near 1, so shades lie farther apart there."""
        return 0.0 if self.value is None else self.value**2

    @property
    def said(self) -> str:
        """What it stands for, in words."""
        return f"{self.name}: {self.share:.1%}"


@dataclass(frozen=True, slots=True)
class StackedShares:
    """One panel."""

    title: str
    of: str  # what a bar is: a set, a run
    bars: tuple[str, ...]
    parts: tuple[tuple[Part, ...], ...]  # [bars]; the shares of each add up to 1

    def placed(self, bar: int) -> Iterator[tuple[float, Part]]:
        """The parts of a bar with the places where they begin."""
        start = 0.0
        for part in self.parts[bar]:
            yield start, part
            start += part.share

    @property
    def panel(self) -> Panel:
        """Bars one below the other; the larger a value, the darker."""
        placed = [(at, start, part) for at in range(len(self.bars)) for start, part in self.placed(at)]
        valued = [part for part in placed if part[2].value is not None]
        rest = [part for part in placed if part[2].value is None]
        marks = [_tiles(self, valued, tuple(part.shade for _, _, part in valued))] if valued else []
        marks += [_tiles(self, rest, (), "other values, and how many they are")] if rest else []
        down = Scale.of_rows(self.bars, BAR_INCHES, grid=False)
        across, label = (
            Scale("share of the confidences", "share"),
            f"How often each value of {self.title} comes, by {self.of}.",
        )
        return Panel(self.title, across, down, marks=tuple(marks), label=label, size=(2.6, REST_INCHES))


def _tiles(
    data: StackedShares, parts: Sequence[tuple[int, float, Part]], shades: tuple[float, ...], name: str = ""
) -> Tiles:
    return Tiles(
        tuple(float(at) for at, _, _ in parts),
        tuple(start for _, start, _ in parts),
        tuple(part.share for _, _, part in parts),
        tuple(part.name for _, _, part in parts),
        tuple(f"{data.bars[at]}, {part.said}" for at, _, part in parts),
        shades,
        name=name,
    )
