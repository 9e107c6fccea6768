"""Accuracy and confidence by the number of times that a model was told a fact."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from calprobe.analysis.curves.results import Exposure, ExposureLine
from calprobe.analysis.plots import frame
from calprobe.analysis.plots.groups import each_line, only_run
from calprobe.analysis.plots.style import FAINT, PAGE_INCHES, SeriesStyle, style_at
from calprobe.metrics import Estimate
from calprobe.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACCURACY, _CONFIDENCE = style_at(0), style_at(1)


def draw_exposure(result: Exposure, width: float = PAGE_INCHES) -> Figure:
    """A panel for each run and estimator: accuracy and mean confidence above, the number of facts below."""
    groups = each_line(result.lines)
    figure, pairs, columns = frame.panel_pairs(len(groups), width)
    for pair, group in zip(pairs, groups, strict=False):
        line = group.series[0].line
        _draw_numbers(pair.curve, line.told, line.accuracy, _ACCURACY)
        _draw_numbers(pair.curve, line.told, line.mean_confidence, _CONFIDENCE)
        _draw_counts(pair.counts, line)
        pair.curve.set_title(group.title, loc="left")
        frame.share_axis(pair.curve, "y")
    frame.outer_labels([pair.curve for pair in pairs], columns, "", "Accuracy and confidence")
    frame.outer_labels([pair.counts for pair in pairs], columns, "Times told in training", "Facts")
    if run := only_run(result.lines):
        figure.suptitle(run)
    samples = {"accuracy": _ACCURACY, "mean confidence": _CONFIDENCE}
    frame.legend_below(figure, {name: frame.sample(**style.points()) for name, style in samples.items()})
    frame.fix_layout(figure)
    return figure


def _draw_numbers(axes: Axes, told: Floats, found: Sequence[Estimate], style: SeriesStyle) -> None:
    axes.vlines(told, [own.low for own in found], [own.high for own in found], color=style.color, linewidth=0.7)
    axes.plot(told, [own.value for own in found], **style.points())


def _draw_counts(axes: Axes, line: ExposureLine) -> None:
    axes.vlines(line.told, 0, line.instances, color=FAINT, linewidth=2.5)
    axes.set_ylim(bottom=0)
    axes.set_xscale("symlog", base=2, linthresh=1)  # 0 has its place, and from 1 on equal steps double
    axes.set_xticks(line.told, [_range(*ends) for ends in zip(line.least, line.most, strict=True)], **frame.SLANTED)
    axes.minorticks_off()
    axes.set_xlim(-0.4, max(line.told, default=1.0) * 1.4)


def _range(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least}–{most}"
