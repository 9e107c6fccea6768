"""How figures look: colours, markers and dashes that stay apart in grey, fonts."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from calprobe.errors import UsageError
from calprobe.show.palette import COLOURS, MAX_SERIES, series_places

INK = "#222222"
FONT_POINTS = 8  # of most texts; a style file may have another size
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
    "font.size": FONT_POINTS,
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
    """How one series is drawn: distinguished from the others by colour, and in grey by marker and dash."""

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


def style_places(names: Sequence[str]) -> dict[str, int]:
    """A place for `style_at` for each estimator: its own where it has one, else the first that is free; all differ.

    >>> style_places(["margin", "mixture"])
    {'margin': 1, 'mixture': 0}
    """
    places: dict[str, int] = {}
    rounds = Counter[int]()  # how often a place in the palette was given
    for name, place in series_places(names).items():
        places[name] = place + MAX_SERIES * rounds[place]
        rounds[place] += 1
    return places


def series_styles(names: Sequence[str]) -> dict[str, SeriesStyle]:
    """The style of each estimator; up to 64, all differ."""
    return {name: style_at(place) for name, place in style_places(names).items()}


@contextmanager
def drawing(style: Path | None = None) -> Iterator[None]:
    """Within: the settings of matplotlib, then ours, then of a style file. Afterwards: those of the process.

    A user's matplotlibrc has no say, so that equal results give equal files everywhere. Raises UsageError for a style
    file that cannot be read.
    """
    import matplotlib.style

    settings: list[Any] = [dict(_RC)]
    if style is not None:
        settings.append(read_style(style))
    with warnings.catch_warnings(record=True) as heard, matplotlib.style.context(settings, after_reset=True):
        warnings.filterwarnings("always", "Glyph ")
        yield
    for warning in heard:
        if str(warning.message).startswith("Glyph "):
            _say_that_letters_are_missing()
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


@cache
def _say_that_letters_are_missing() -> None:
    """Once: a figure says it of each letter, each time it is laid out."""
    logging.getLogger(__name__).warning(
        "figures: their font lacks some letters of names, which become boxes; name another as font.family in a style "
        "file: --look style=FILE"
    )


def read_style(path: Path) -> dict[str, Any]:
    """The settings of a matplotlib style file. Raises UsageError if it is not there or has a line that is not one."""
    import matplotlib

    try:
        lines = [line.strip() for line in path.read_text("utf-8").splitlines()]
        settings = matplotlib.rc_params_from_file(path, use_default_template=False)
        refused = [line for line in lines if line and line[0] != "#" and line.partition(":")[0].strip() not in settings]
        if refused:
            raise ValueError(f"{refused[0]!r} is not a setting of matplotlib")
        return {name: settings[name] for name in settings}
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise UsageError(f"--style {path}: not a style file of matplotlib: {error}") from error
