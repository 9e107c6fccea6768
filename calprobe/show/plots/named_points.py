"""Names of points: written beside them where all find a place, else as numbers with a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from calprobe.show.plots import frame
from calprobe.show.plots.label_places import DEFAULT_PLACING, Label, place_all, place_numbers

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMES = 8  # written at their points; more are numbered, with a legend


def write_names(
    figure: Figure,
    labelled: Sequence[tuple[Axes, Sequence[Label]]],
    named: Mapping[str, Artist],
    kinds: Mapping[str, Artist],
) -> None:
    """Write the names of the points, and a legend below the panels. Fixes the layout.

    Args:
        figure: with all panels drawn.
        labelled: the names in each panel, of those in `named`.
        named: what the legend shows beside the number of each name.
        kinds: the legend's other entries.
    """
    if len(named) <= MOST_NAMES:
        frame.legend_below(figure, kinds)
        frame.fix_layout(figure)
        if place_all(labelled, DEFAULT_PLACING):
            return
        for legend in figure.legends:
            legend.remove()
        figure.set_layout_engine("constrained")
    numbers = {name: at for at, name in enumerate(named, 1)}
    samples: dict[str, Artist] = {f"{numbers[name]}  {name}": artist for name, artist in named.items()}
    frame.legend_below(figure, {**samples, **kinds})
    frame.fix_layout(figure)
    for axes, labels in labelled:
        place_numbers(axes, labels, numbers, DEFAULT_PLACING)
