"""Utility curves: what answers are worth against the stakes, where those are given whose confidence is as large."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from calprobe.cells.opening import Runs
from calprobe.confidence import Headline, headline
from calprobe.curves.curve import (
    DEFAULT_CURVE_OPTIONS,
    LEAD,
    Columns,
    CurveOptions,
    Curves,
    Line,
    lines_of,
)
from calprobe.curves.inputs import chosen_estimators, lead_of, read_runs
from calprobe.metrics import MOST_STAKES, UtilityCurve, utility_curve
from calprobe.show.plots import frame
from calprobe.show.plots.groups import group_lines
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.names import run_names
from calprobe.show.plots.style import FAINT, INK, SeriesStyle

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

GRID = np.arange(round(100 * MOST_STAKES) + 1) / 100  # stakes
MOST_LINES = 4  # in one panel; bands of more cover each other
PANEL_INCHES, LEAST_INCHES = 2.6, 2.2  # height and least width of a panel
_ALWAYS = SeriesStyle(INK, "", (0, (4, 2)))


@dataclass(frozen=True, slots=True)
class UtilityLine(Line):
    """The curve of one estimator."""

    curve: UtilityCurve


@dataclass(frozen=True, slots=True)
class Utility(Curves):
    """Utility curves. Columns: stakes, answered (a share), utility with its interval, always (of all answers)."""

    kind = "utility"
    COLUMNS = (*LEAD, "stakes", "answered", "utility", "low", "high", "always")

    lines: tuple[UtilityLine, ...]

    def only(self, estimators: Sequence[str]) -> Self:
        """See `Curves.only`."""
        return replace(self, lines=lines_of(self.lines, estimators))

    def _parts(self) -> Iterable[Columns]:
        for line in self.lines:
            curve = line.curve
            yield {
                **line.lead,
                "stakes": curve.stakes,
                "answered": curve.answered,
                "utility": curve.utility,
                "low": curve.low,
                "high": curve.high,
                "always": curve.always,
            }


def utility(runs: Runs, options: CurveOptions = DEFAULT_CURVE_OPTIONS) -> Utility:
    """What answers are worth at stakes from 0 to 0.9, see `calprobe.metrics.utilities`.

    Args:
        runs: run folders, open or by path; one or several.
        options: reduction, compat, bootstrap; estimators that are probabilities.
    Returns:
        A line for each run and estimator.
    Raises:
        UsageError: no run, one named twice, an estimator that a run does not have or that is no probability.
            DataMissingError, CalprobeError: as `report`.
    """
    lines = []
    for run in read_runs(runs, options.scores):
        for estimator in chosen_estimators(run, options, headline(Headline.FIRST), probabilities=True):
            confidence = run.confidence(estimator.name)
            sample = confidence.confidence, confidence.correct
            curve = utility_curve(*sample, GRID, options.scores.resampling, run.clusters)
            lines.append(UtilityLine(*lead_of(run, estimator), curve))
    return Utility(tuple(lines))


def draw_utility(result: Utility, look: Look = DEFAULT_LOOK) -> Figure:
    """Of one run a panel of its estimators, of several a panel for each; below them giving always and never."""
    groups = group_lines(result.lines, look, MOST_LINES) if result.lines else []
    figure, panels, columns = frame.panel_figure(max(1, len(groups)), look, (LEAST_INCHES, PANEL_INCHES))
    entries: dict[str, Artist] = {}
    lowest = min((float(np.nanmin(line.curve.utility)) for line in result.lines), default=0.0)
    several = len({line.run for line in result.lines}) > 1  # of one run the answers are much the same
    note = "bands: 95 % intervals" if any(np.isfinite(line.curve.low).any() for line in result.lines) else ""
    for axes, group in zip(panels, groups, strict=False):
        for series in group.series:
            curve, style = series.line.curve, series.style
            if np.isfinite(curve.low).any():
                axes.fill_between(curve.stakes, curve.low, curve.high, color=style.color, alpha=0.13, linewidth=0)
            axes.plot(curve.stakes, curve.utility, **style.points(), markevery=10)
            entries[series.name] = frame.sample(**style.points())
        for series in group.series if several else group.series[:1]:
            color = series.style.color if several else _ALWAYS.color
            axes.plot(GRID, series.line.curve.always, **_ALWAYS.line() | {"color": color, "linewidth": 0.9})
        axes.axhline(0, color=FAINT, linewidth=0.8)
        frame.title_panel(axes, group.title if len(groups) > 1 else "", note)
    for axes in panels:
        axes.set_xlim(0, MOST_STAKES)
        axes.set_ylim(min(lowest * 1.3, 0) - 0.1, 1)
    entries["always answering"] = frame.sample(**_ALWAYS.line())
    frame.outer_labels(panels, columns, "Stakes: an answer pays from this probability on", "Utility of an answer")
    names = list(run_names(result.lines, look).values())
    frame.finish(figure, look, entries, names[0] if len(names) == 1 else "")
    return figure
