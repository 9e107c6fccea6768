"""What a result shows of itself in Python: its tables in a notebook, its figures as files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from calprobe.measures.compare_results import Comparison
from calprobe.presentation.present_both import show_ways
from calprobe.presentation.present_replies import show_asked_comparison, show_replies
from calprobe.presentation.present_scores import show_comparison, show_scores
from calprobe.presentation.presentation import Presentation, ReportChoice, in_folder, write_figures
from calprobe.show.plots import DEFAULT_LOOK
from calprobe.show.tables.html import html
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.compared import AskedComparison
from calprobe.studies.four_ways.joint import FourWays
from calprobe.studies.scored.results import Report

SHOWN: Mapping[type, Callable[[Any, ReportChoice], Presentation]] = {
    Report: show_scores,
    AskedReport: show_replies,
    Comparison: show_comparison,
    AskedComparison: show_asked_comparison,
    FourWays: show_ways,
}
FIRST_LOOK = ReportChoice(at_a_glance=True, figures=True)


def figures(result: Report | AskedReport | Comparison | AskedComparison | FourWays, folder: str | Path) -> list[Path]:
    """Write the figures of a result as PNG and SVG: those of `report --plots` and `compare --plot`.

    Args:
        result: of `report`, `compare` or `compare_ways`.
        folder: made where it is not there; files of the same names are replaced.
    Returns:
        The files, in the order of the command.
    Raises:
        ValueError: of another type. CalprobeError: a file cannot be written.

    Example:
        >>> calprobe.figures(calprobe.report("runs/smollm2-135m-mini"), "figures")  # doctest: +SKIP
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = in_folder(Path(folder))
    written = write_figures(_presentation_of(result), lambda name: paths(name or "differences"), DEFAULT_LOOK)
    return [path for path in written if isinstance(path, Path)]


def html_of(result: object) -> str:
    """The tables of a first look at a result as HTML, for notebooks."""
    return html(_presentation_of(result).tables())


def _presentation_of(result: object) -> Presentation:
    if type(result) not in SHOWN:
        raise ValueError(f"result must be one of {', '.join(kind.__name__ for kind in SHOWN)}; got {result!r:.80}")
    return SHOWN[type(result)](result, FIRST_LOOK)
