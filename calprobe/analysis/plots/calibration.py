"""Calibration curves: accuracy against confidence on the bins of ACE, and how the confidences are spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calprobe.analysis.curves.results import Calibration, CalibrationLine
from calprobe.analysis.number_text import spelled
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import Series, each_line, only_run
from calprobe.analysis.plots.style import FAINT, INK, PAGE_INCHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_IDENTITY: dict[str, Any] = {"color": FAINT, "linestyle": (0, (4, 2)), "linewidth": 0.9}
_SMOOTH: dict[str, Any] = {"color": FAINT, "linestyle": "-", "linewidth": 1.6}


def draw_calibration(result: Calibration, width: float = PAGE_INCHES) -> Figure:
    """A panel for each run and estimator, with ACE's own bins above and counts in ECE's ten bins below."""
    groups = each_line(result.lines)
    figure, pairs, columns = frame.panel_pairs(len(groups), width)
    for pair, group in zip(pairs, groups, strict=False):
        _draw_curve(pair.curve, group.series[0])
        _draw_counts(pair.counts, group.series[0])
        frame.title_panel(pair.curve, group.title, f"ACE {spelled(group.series[0].line.ace.value)}")
    frame.outer_labels([pair.curve for pair in pairs], columns, "", "Accuracy (share correct)")
    frame.outer_labels([pair.counts for pair in pairs], columns, "Confidence (higher is surer)", "Facts")
    if run := only_run(result.lines):
        figure.suptitle(run)
    bins = frame.sample(color=INK, marker="o", linestyle="none")
    entries = {"bin of ACE, 95 % interval": bins, "smooth curve": frame.sample(**_SMOOTH)}
    frame.legend_below(figure, entries | {"perfectly calibrated": frame.sample(**_IDENTITY)})
    frame.fix_layout(figure)
    return figure


def _draw_curve(axes: Axes, series: Series[CalibrationLine]) -> None:
    ace, smooth = series.line.ace, series.line.smooth
    axes.plot([0, 1], [0, 1], **_IDENTITY)
    axes.plot(smooth.confidence, smooth.accuracy, **_SMOOTH)
    frame.interval_bars(axes, ace.bins.confidence, ace.low, ace.high, series.style.color)
    axes.plot(ace.bins.confidence, ace.bins.accuracy, **series.style.dots())
    frame.share_axis(axes, "both")


def _draw_counts(axes: Axes, series: Series[CalibrationLine]) -> None:
    bins = series.line.ece.bins
    axes.stairs(bins.count, bins.edges, fill=True, color=series.style.color, alpha=0.55)
    axes.set_ylim(bottom=0)
