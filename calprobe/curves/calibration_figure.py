"""Reliability diagrams: a panel for each curve with its counts below, or several in one panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from calprobe.curves.calibration_curve import Calibration, CalibrationLine
from calprobe.measures.number_text import interval, short
from calprobe.messages import counted
from calprobe.metrics import Estimate
from calprobe.metrics.bins import width_edges
from calprobe.show.marks import Histogram, Line, Panel, Points, Scale, Series
from calprobe.show.plots import frame, paper
from calprobe.show.plots.groups import run_rows
from calprobe.show.plots.look import DEFAULT_LOOK, Look
from calprobe.show.plots.names import run_names
from calprobe.show.plots.style import style_places

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES, OVERLAY_SIZES = frame.PairSizes(), frame.PairSizes(2.0, 2.8)
ACROSS, UPWARD = Scale("confidence", "share"), Scale("accuracy", "share")
SHARE = "share"
CALIBRATED = Line((0.0, 1.0), (0.0, 1.0), "reference", "perfectly calibrated")


def overlaid(
    lines: Sequence[CalibrationLine], places: Mapping[str, int], below: str, title: str = "", of: str = "instance"
) -> Panel:
    """All lines in one panel, through the bins of the printed error, and below them how confidences are spread.

    `below` is what is counted there, in the plural, or the share; `of` is what an instance is called.
    """
    bins = tuple(Series(line.estimator, places[line.estimator], (_bins(line, of),)) for line in lines)
    label = f"Calibration of {', '.join(places)}: accuracy against mean confidence of bins."
    strip = _strip(lines, places, below, of)
    return Panel(title, ACROSS, UPWARD, bins, (CALIBRATED,), strip=strip, label=label)


def alone(line: CalibrationLine, places: Mapping[str, int], below: str, heading: str = "") -> Panel:
    """One line: its bins without a line through them, the smooth curve, the error as a note."""
    bins = _bins(line, "instance", f"bin of {line.error.upper()}, 95 % interval")
    smooth = Line(
        tuple(line.smooth.confidence.tolist()), tuple(line.smooth.accuracy.tolist()), "smooth", "smooth curve"
    )
    series, strip = Series(line.estimator, places[line.estimator], (bins,)), _strip([line], places, below, "instance")
    return Panel(line.estimator, ACROSS, UPWARD, (series,), (smooth, CALIBRATED), _spelled(line), heading, strip)


def _strip(lines: Sequence[CalibrationLine], places: Mapping[str, int], below: str, of: str) -> Panel:
    counts = tuple(
        Series(line.estimator, places[line.estimator], (_counts(line, of, line.instances if below == SHARE else 1),))
        for line in lines
    )
    return Panel("", ACROSS, Scale(below, "zero"), counts)


def _bins(line: CalibrationLine, of: str, name: str = "") -> Points:
    """The bins that hold an instance."""
    drawn, estimates, tips = line.drawn, [], []
    places = (drawn.bins.count > 0).nonzero()[0].tolist()
    for at in places:
        accuracy = Estimate(float(drawn.bins.accuracy[at]), float(drawn.low[at]), float(drawn.high[at]))
        of_bin = f"confidence {drawn.bins.confidence[at]:.3f}, accuracy {accuracy.value:.3f}"
        tips.append(f"{line.estimator}: {of_bin}\n{counted(int(drawn.bins.count[at]), of)}")
        estimates.append(accuracy)
    return Points(
        tuple(drawn.bins.confidence[places].tolist()), tuple(estimates), tuple(tips), joined=not name, name=name
    )


def _counts(line: CalibrationLine, of: str, whole: int) -> Histogram:
    edges, counts = width_edges(len(line.histogram)).tolist(), line.histogram.tolist()
    tips = tuple(
        f"{line.estimator}: {counted(n, of)}\nof confidence {start:.2f} to {end:.2f}"
        for start, end, n in zip(edges[:-1], edges[1:], counts, strict=True)
    )
    return Histogram(tuple(edges), tuple(n / max(whole, 1) for n in counts), tips)


def _spelled(line: CalibrationLine) -> str:
    """The error in three decimals, which a narrow panel has room for: ACE .055 (.021-.083)."""
    error = line.drawn.value
    named = f"{line.error.upper()} {short(error.value, 3)}"
    return f"{named} ({interval(error)})" if interval(error) else named


def draw_calibration(result: Calibration, look: Look = DEFAULT_LOOK) -> Figure:
    """A row for each run, a panel for each estimator: bins of the printed error, below them counts in equal bins.

    As an overlay, a panel for each run with all of its estimators, a line through the bins of each.
    """
    rows, names = run_rows(result.lines), run_names(result.lines, look)
    places = style_places([line.estimator for line in result.lines])
    if look.form == "overlay":
        panels = [overlaid(row, places, result.of, names[run]) for run, row in rows.items()]
        return paper.draw_strips([panels] if panels else [], look, OVERLAY_SIZES, remark=result.said)
    headed = len(rows) > 1
    blocks = [
        [alone(line, places, result.of, names[run] if headed and not at else "") for at, line in enumerate(row)]
        for run, row in rows.items()
    ]
    return paper.draw_strips(blocks, look, SIZES, names[result.lines[0].run] if len(rows) == 1 else "", result.said)
