"""How figures look: colours, markers and dashes that stay apart in grey, sizes of a paper's column and page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from calprobe.analysis.palette import COLOURS, MAX_SERIES, series_places

COLUMN_INCHES = 3.3  # of a paper in two columns
PAGE_INCHES = 6.8  # both columns

INK = "#222222"
FAINT = "#8a8a8a"  # identity lines, chance, grids: seen, not read first

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_DASHES: tuple[tuple[float, tuple[float, ...]], ...] = (
    (0, ()),
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1)),
    (0, (6, 1.5, 1.2, 1.5, 1.2, 1.5)),
    (0, (9, 2)),
    (0, (1.2, 3)),
)

_RC: Mapping[str, Any] = {
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: the same letters on every machine
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 3.2,  # long enough for a dash pattern
    "figure.titlesize": 9,
    "figure.titleweight": "bold",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#555555",
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "lines.markeredgewidth": 0,
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
    "svg.fonttype": "none",  # text stays text: found, copied, read aloud
    "svg.hashsalt": "calprobe",  # else ids are random, and no two files equal
    "pdf.fonttype": 42,  # TrueType: journals refuse Type 3
}


@dataclass(frozen=True, slots=True)
class SeriesStyle:
    """How one series is drawn: told from the others by colour, and in grey by marker and dash."""

    color: str
    marker: str
    dash: tuple[float, tuple[float, ...]]

    def line(self) -> dict[str, Any]:
        """The arguments of a line without markers."""
        return {"color": self.color, "linestyle": self.dash}

    def points(self) -> dict[str, Any]:
        """The arguments of a line with markers."""
        return self.line() | {"marker": self.marker}

    def dots(self) -> dict[str, Any]:
        """The arguments of markers without a line."""
        return {"color": self.color, "marker": self.marker, "linestyle": "none"}


def style_at(place: int) -> SeriesStyle:
    """The style of a place in the palette. Colours come again after eight, with another marker and dash: 64 in all.

    >>> style_at(0).color == style_at(8).color, style_at(0).marker == style_at(8).marker
    (True, False)
    """
    again, at = divmod(place, MAX_SERIES)
    return SeriesStyle(
        COLOURS[at], _MARKERS[(at + 3 * again) % len(_MARKERS)], _DASHES[(at + 5 * again) % len(_DASHES)]
    )


def series_styles(names: Sequence[str]) -> dict[str, SeriesStyle]:
    """A style for each estimator: its own where it has one, else the first that is free.

    >>> found = series_styles(["margin", "mixture"])
    >>> found["margin"] == style_at(1), found["mixture"] == style_at(0)
    (True, True)
    """
    return {name: style_at(place) for name, place in series_places(names).items()}


@contextmanager
def drawing() -> Iterator[None]:
    """Within, matplotlib's own defaults and then ours hold; afterwards the process has its settings back.

    A user's matplotlibrc has no say, so that equal results give equal files everywhere.
    """
    import matplotlib.style

    with matplotlib.style.context(dict(_RC), after_reset=True):
        yield


def shortened(name: str, width: int) -> str:
    """The name in at most `width` characters, the middle left out: what tells runs apart stands at either end.

    >>> shortened("runs/smollm2-135m-mini", 15), shortened("gpt2", 15)
    ('runs/sm…5m-mini', 'gpt2')
    """
    if len(name) <= width:
        return name
    kept = width - 1
    return f"{name[: kept // 2]}…{name[len(name) - (kept - kept // 2) :]}"
