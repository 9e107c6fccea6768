"""The kinds of curves, each designed once: a module that holds its result, how it is computed, and how it is drawn.

`calprobe curve`, `calprobe report --plots` and `--html` know the kinds from KINDS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from calprobe.confidence import Headline, headline
from calprobe.curves.accuracy_ace import (
    FEWEST_RUNS,
    AccuracyAce,
    accuracy_ace,
    draw_accuracy_ace,
    join_accuracy_ace,
    reported_accuracy_ace,
)
from calprobe.curves.accuracy_rejection import (
    AccuracyRejection,
    accuracy_rejection,
    join_rejections,
    reported_rejection,
)
from calprobe.curves.calibration_curve import Calibration, calibration, reported_calibration
from calprobe.curves.calibration_figure import draw_calibration
from calprobe.curves.curve import Curves
from calprobe.curves.exposure import Exposure, draw_exposure, exposure, reported_exposure
from calprobe.curves.inputs import Reported
from calprobe.curves.marker_figure import draw_markers
from calprobe.curves.markers import Markers, join_markers, markers, reported_markers
from calprobe.curves.option_counts import Options, draw_options, options_curve
from calprobe.curves.rejection_figure import draw_accuracy_rejection
from calprobe.curves.set_sizes import SetSizes, draw_set_sizes, set_sizes
from calprobe.curves.utility_curve import Utility, draw_utility, utility
from calprobe.errors import UsageError
from calprobe.show.plots import DEFAULT_LOOK, Look, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["KINDS", "Kind", "plot"]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of curve, as far as commands, figures and pages know it."""

    result: type[Curves]
    compute: Callable[..., Curves]  # (runs, options), or (runs, exposures, options)
    draw: Callable[[Any, Look], Figure]
    description: str  # a line of `calprobe curve --help`
    ignores: tuple[str, ...] = ()  # parameters of `calprobe curve` that change nothing in it
    needs_exposures: bool = False  # whether it takes how often facts are in the training data
    of_report: Callable[[Reported], Curves | None] | None = None  # what a report's figures show of a run
    join: Callable[[Any], Curves] | None = None  # those of several runs in one figure
    fewest_runs: int = 1  # of a figure; with fewer it says nothing
    plotted: tuple[str, ...] = headline(Headline.PAPER)  # estimators in the figures of `report --plots`


KINDS: Mapping[str, Kind] = {
    "accuracy-rejection": Kind(
        AccuracyRejection,
        accuracy_rejection,
        draw_accuracy_rejection,
        "accuracy of the rest when the least confident are rejected",
        ignores=("bins",),
        of_report=reported_rejection,
        join=join_rejections,
    ),
    "calibration": Kind(
        Calibration,
        calibration,
        draw_calibration,
        "accuracy against confidence, on the bins of ACE and ECE",
        of_report=reported_calibration,
    ),
    "utility": Kind(
        Utility,
        utility,
        draw_utility,
        "what answers are worth against the stakes, where a wrong one costs",
        ignores=("bins",),
    ),
    "set-sizes": Kind(
        SetSizes,
        set_sizes,
        draw_set_sizes,
        "size and coverage of answer sets against the coverage that is promised",
        ignores=("bins", "bootstrap", "cluster"),
    ),
    "options": Kind(
        Options,
        options_curve,
        draw_options,
        "accuracy, confidence and ACE among 5, 10, .. answer options",
    ),
    "accuracy-ace": Kind(
        AccuracyAce,
        accuracy_ace,
        draw_accuracy_ace,
        "accuracy against ACE over the RUNs, with rank correlation",
        of_report=reported_accuracy_ace,
        join=join_accuracy_ace,
        fewest_runs=FEWEST_RUNS,
    ),
    "markers": Kind(
        Markers,
        markers,
        draw_markers,
        "the plain statement against possibly, certainly, N %",
        of_report=reported_markers,
        join=join_markers,
    ),
    "exposure": Kind(
        Exposure,
        exposure,
        draw_exposure,
        "by how often a fact is in the training data (tiny-clm and tiny-mlm only)",
        ignores=("bins",),
        needs_exposures=True,
        of_report=reported_exposure,
    ),
}


def plot(result: Curves, width: float | None = None, look: Look = DEFAULT_LOOK) -> Figure:
    """Draw a curve of any kind.

    What is NaN leaves a gap. Series that find no place in a panel go on in further panels.

    Args:
        result: as the kind's `compute` gives it.
        width: of the figure, inches; COLUMN_INCHES and PAGE_INCHES of `calprobe.show.plots` are those of a paper
            in two columns. The height follows from the number of panels. None: that of the look.
        look: title, names of runs, style file.
    Returns:
        A figure that no pyplot knows, laid out; write it with `calprobe.show.plots.save`.
    Raises:
        UsageError: fewer runs than the kind's figure needs, or a style file that cannot be read.

    >>> figure = plot(AccuracyRejection((), ()), 3.3)
    >>> len(figure.axes)
    2
    """
    kind, runs = KINDS[result.kind], {line.run for line in result.of_runs()}
    if len(runs) < kind.fewest_runs and kind.fewest_runs > 1:
        raise UsageError(
            f"{result.kind}: a figure needs {kind.fewest_runs} runs or more, got {len(runs)}; name more, or write the"
            " numbers with --out F.csv"
        )
    drawn_look = look if width is None else replace(look, width=width)
    with drawing(look.style):
        return kind.draw(result, drawn_look)
