"""The figures of a report of runs of replies: those of each run, and those of several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from calprobe.curves.curve import Line
from calprobe.measures.run_names import states_of
from calprobe.presentation.figure_names import JOINT, file_names, names_of_runs
from calprobe.presentation.presentation import Draw, NamedFigure
from calprobe.show.marks import Drawable
from calprobe.show.plots import Look
from calprobe.show.plots.names import run_names
from calprobe.show.plots.paper import draw
from calprobe.studies.asked.answer_figures import length_panels_of_runs, value_panels_of_runs
from calprobe.studies.asked.asked_report import AskedReport
from calprobe.studies.asked.figures import Pictures, size_panels
from calprobe.studies.labels.figures import design_matrices, kind_panels
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
    yield from (NamedFigure(f"{JOINT}.{kind}", draw) for kind, draw in _joint_figures(report))


def _titled(file: str, title: str, kind: str, draw: Draw, names: Mapping[str, Any]) -> NamedFigure:
    """A figure with a title, unless the look has another."""

    def titled(look: Look) -> Any:
        return draw(replace(look, title=title if look.title is None else look.title, **names))

    return NamedFigure(f"{file}.{kind}", titled)


def _joint_figures(report: AskedReport) -> Iterator[tuple[str, Draw]]:
    """The kinds of figures of several runs together that there is something to draw of."""
    studies, states = [run.labels for run in report.runs if run.labels is not None], states_of(report.runs)
    joint: dict[str, Sequence[Drawable]] = {
        "sizes": size_panels(report.across, states),
        "labels": kind_panels(studies, states),
        "values": value_panels_of_runs(report.runs, states),
        "lengths": length_panels_of_runs(report.runs, states),
        "designs": design_matrices(studies, states),
    }
    return ((kind, partial(draw, panels)) for kind, panels in joint.items() if panels)
