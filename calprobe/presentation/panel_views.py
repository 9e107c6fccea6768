"""Figures of marks as a page has them: each panel drawn, with its legend and its caption."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from calprobe.presentation import charts
from calprobe.show.html.panels import drawn
from calprobe.show.html.views import Choice, FigureView
from calprobe.show.kinds.dumbbell_figure import Dumbbells
from calprobe.show.kinds.grouped_dots import GroupedDots
from calprobe.show.kinds.share_figure import SharePanel
from calprobe.show.kinds.size_figure import SizePanel, spelled_rho
from calprobe.show.marks import Drawable, Figures, Panel


def views_of(figures: Figures) -> Iterator[FigureView]:
    """A figure of each panel."""
    for data in figures.panels:
        capital = f"{data.title[:1].upper()}{data.title[1:]}"
        below = figures.caption.format(data) + _more(data)
        panel = replace(data.panel, label=figures.spoken.format(data) if figures.spoken else below)
        series = panel.series if isinstance(panel, Panel) else ()
        choices = legend([entry.name for entry in series], [entry.place for entry in series])
        # Data without a title leave a colon.
        heading = figures.title.format(data, capital).removesuffix(": ")
        yield FigureView(heading, drawn(panel), below, choices, choosable=not isinstance(data, Dumbbells))


def _more(data: Drawable) -> str:
    """What the caption says of this panel alone."""
    match data:
        case SharePanel() if data.exact:
            return " Dashed: the exact shares, of label probabilities."
        case SizePanel(series=(first, *_)):
            return f" {spelled_rho(first.rho, first.reader, len(data.names))}."
        case GroupedDots() if data.chance is not None:
            return " Dotted: chance."
        case Dumbbells() if not math.isnan(data.chance):
            return " Dotted: chance of the answers."
        case _:
            return ""


def legend(
    names: Iterable[str], places: Iterable[int] | None = None, shown: Sequence[str] | None = None
) -> tuple[Choice, ...]:
    """A choice for each series, at these places of the palette or from the first on.

    Those of `shown` are shown first, all where there are none of it.
    """
    placed = list(enumerate(names) if places is None else zip(places, names, strict=True))
    visible = [name for _, name in placed if shown is None or name in shown]
    return tuple(Choice(name, place, charts.key(place), name in visible or not visible) for place, name in placed)
