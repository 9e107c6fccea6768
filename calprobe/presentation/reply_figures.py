"""The figures of a report of runs of replies: those of each run, and those of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from calprobe.curves.curve import Line
from calprobe.presentation.presentation import NamedFigure
from calprobe.presentation.run_file_names import JOINT, file_names, names_of_runs
from calprobe.show.plots import Look
from calprobe.show.plots.look import Draw
from calprobe.show.plots.names import run_names
from calprobe.show.plots.paper import draw
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.figures import Pictures, figures_of_runs
from calprobe.studies.stated.figures import side_by_side


def reply_figures(
    report: AskedReport, pictures: Mapping[str, Pictures], labels: Mapping[str, str]
) -> Iterator[NamedFigure]:
    """The figures of each run of replies, then those of several runs together.

    Args:
        report: of the runs.
        pictures: of each run, by its label.
        labels: the names that `--label` gave to runs.
    """
    fields = names_of_runs(report.runs, labels)
    names = run_names([Line(run.label, run.model, "", ()) for run in report.runs], Look(**fields))
    files = file_names(list(pictures))
    for label, of_run in pictures.items():
        yield from (_titled(files[label], names[label], kind, draw, fields) for kind, draw in of_run.drawn())
    stated = [(names[label], of_run.stated) for label, of_run in pictures.items() if of_run.stated is not None]
    if joined := side_by_side(stated):
        yield from (_titled(JOINT, "", kind, draw, fields) for kind, draw in joined.drawn())
    for figures in figures_of_runs(report):
        if figures.panels:
            yield NamedFigure(f"{JOINT}.{figures.kind}", partial(draw, figures.panels))


def _titled(file: str, title: str, kind: str, draw: Draw, names: Mapping[str, Any]) -> NamedFigure:
    """A figure with a title, unless the look has another."""

    def titled(look: Look) -> Any:
        return draw(replace(look, title=title if look.title is None else look.title, **names))

    return NamedFigure(f"{file}.{kind}", titled)
