"""Reliability diagrams: a panel for each curve with its counts below, or several in one panel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from calprobe.analysis.curves.calibration import Calibration, CalibrationLine
from calprobe.analysis.number_text import interval, number
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import Series, run_rows
from calprobe.analysis.plots.look import DEFAULT_LOOK, Look
from calprobe.analysis.plots.names import run_names
from calprobe.analysis.plots.style import FAINT, INK
from calprobe.metrics.bins import width_edges

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_IDENTITY: dict[str, Any] = {"color": FAINT, "linestyle": (0, (4, 2)), "linewidth": 0.9}
_SMOOTH: dict[str, Any] = {"color": FAINT, "linestyle": "-", "linewidth": 1.6}
LONG, HIGH_ROWS = 7, 2  # letters of a word that is long beside a panel of counts; rows with room for it
OVERLAY_INCHES = 2.0  # least width of a panel of several estimators
OVERLAY_SIZES = frame.PairSizes(OVERLAY_INCHES, 2.8)


def draw_calibration(result: Calibration, look: Look = DEFAULT_LOOK) -> Figure:
    """A row for each run, a panel for each estimator: bins of the printed error, below them counts in equal bins.

    As an overlay, a panel for each run with all of its estimators, a line through the bins of each.
    """
    return _overlaid(result, look) if look.form == "overlay" else _panels(result, look)


def _panels(result: Calibration, look: Look) -> Figure:
    rows, names = run_rows(result.lines), run_names(result.lines, look)
    figure, blocks = frame.panel_pairs([len(row) for row in rows.values()], look, frame.PairSizes())
    for block, (run, row) in zip(blocks, rows.items(), strict=False):
        for at, (pair, series) in enumerate(zip(block, row, strict=True)):
            _draw_curve(pair.curve, series)
            _draw_counts(pair.counts, [series])
            heading = names[run] if at == 0 and len(rows) > 1 else ""
            first_row = len(rows) > 1 and not any(other.left for other in block[1 : at + 1])
            frame.title_panel(pair.curve, series.name, _spelled(series.line), heading, room=first_row)
    _label([pair for block in blocks for pair in block], result.of)
    bins = frame.sample(color=INK, marker="o", linestyle="none")
    errors = " or ".join(dict.fromkeys(line.error.upper() for line in result.lines)) or "ACE"
    entries: dict[str, Artist] = {f"bin of {errors}, 95 % interval": bins, "smooth curve": frame.sample(**_SMOOTH)}
    entries["perfectly calibrated"] = frame.sample(**_IDENTITY)
    entries |= _counted(result)
    frame.finish(figure, look, entries, next(iter(names.values())) if len(rows) == 1 else "")
    return figure


def _spelled(line: CalibrationLine) -> str:
    """The error in three decimals, which a narrow panel has room for: ACE .055 (.021-.083)."""
    error = line.drawn.value
    value = number(error.value) if math.isnan(error.value) else f"{error.value:.3f}".replace("0.", ".", 1)
    named = f"{line.error.upper()} {value}"
    return f"{named} ({interval(error)})" if interval(error) else named


def _overlaid(result: Calibration, look: Look) -> Figure:
    rows, names = run_rows(result.lines), run_names(result.lines, look)
    figure, blocks = frame.panel_pairs([len(rows)] if rows else [], look, OVERLAY_SIZES)
    entries: dict[str, Artist] = {}
    for pair, (run, row) in zip(blocks[0], rows.items(), strict=False):
        pair.curve.plot([0, 1], [0, 1], **_IDENTITY)
        for series in row:
            drawn = series.line.drawn
            frame.interval_bars(pair.curve, drawn.bins.confidence, drawn.low, drawn.high, series.style.color)
            kept = drawn.bins.count > 0
            pair.curve.plot(drawn.bins.confidence[kept], drawn.bins.accuracy[kept], **series.style.points())
            entries[series.name] = frame.sample(**series.style.points())
        _draw_counts(pair.counts, row)
        frame.share_axis(pair.curve, "both")
        frame.title_panel(pair.curve, names[run])
    _label(blocks[0], result.of)
    frame.finish(figure, look, entries | {"perfectly calibrated": frame.sample(**_IDENTITY)} | _counted(result))
    return figure


def _counted(result: Calibration) -> dict[str, Artist]:
    """What is counted, as a line of the legend."""
    return {result.said: frame.sample(linestyle="none")} if result.said else {}


def _label(pairs: Sequence[frame.PanelPair], of: str) -> None:
    """All panels have the same axes, with their numbers at the left and at the lowest ones.

    Where many rows are low, n stands for a word that would go on beside the next panel.
    """
    counted = of.capitalize() if len(of) < LONG or sum(pair.left for pair in pairs) <= HIGH_ROWS else "n"
    most = max((pair.counts.get_ylim()[1] for pair in pairs), default=1.0)
    for pair in pairs:
        if pair is not pairs[0]:
            pair.counts.sharey(pairs[0].counts)
        pair.counts.set_ylim(0, most)
        pair.curve.tick_params(labelleft=pair.left)
        pair.counts.tick_params(labelleft=pair.left, labelbottom=pair.lowest)
        if pair.left:
            pair.curve.set_ylabel("Accuracy")
            pair.counts.set_ylabel(counted)
        if pair.lowest:
            pair.counts.set_xlabel("Confidence")


def _draw_curve(axes: Axes, series: Series[CalibrationLine]) -> None:
    drawn, smooth = series.line.drawn, series.line.smooth
    axes.plot([0, 1], [0, 1], **_IDENTITY)
    axes.plot(smooth.confidence, smooth.accuracy, **_SMOOTH)
    frame.interval_bars(axes, drawn.bins.confidence, drawn.low, drawn.high, series.style.color)
    axes.plot(drawn.bins.confidence, drawn.bins.accuracy, **series.style.dots())
    frame.share_axis(axes, "both")


def _draw_counts(axes: Axes, row: Sequence[Series[CalibrationLine]]) -> None:
    """Filled for one estimator; outlines for several, which would cover each other."""
    for series in row:
        counts, edges, color = series.line.histogram, width_edges(len(series.line.histogram)), series.style.color
        if len(row) == 1:
            axes.stairs(counts, edges, fill=True, color=color, alpha=0.55)
        else:
            axes.stairs(counts, edges, color=color, linestyle=series.style.dash, linewidth=0.9)
    axes.set_ylim(bottom=0)
