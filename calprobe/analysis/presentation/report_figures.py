"""The figures of `calprobe report --plots` with their names in files: those of each run, and those of several."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from calprobe.analysis.asked.answer_pictures import length_panels_of_runs, value_panels_of_runs
from calprobe.analysis.asked.pictures import Pictures, size_panels
from calprobe.analysis.asked.report import AskedReport
from calprobe.analysis.asked.science.pictures import design_matrices, kind_panels
from calprobe.analysis.asked.stated.pictures import side_by_side
from calprobe.analysis.contents import ReportContents
from calprobe.analysis.curves import plot
from calprobe.analysis.curves.curve import Curves, Line
from calprobe.analysis.curves.grouped_boxes import draw_grouped_boxes
from calprobe.analysis.curves.grouped_dots import draw_grouped_dots
from calprobe.analysis.curves.matrix_figure import draw_matrices
from calprobe.analysis.curves.size_figure import draw_sizes
from calprobe.analysis.curves.stacked_shares import draw_stacked_shares
from calprobe.analysis.plots import Look
from calprobe.analysis.plots.names import run_names
from calprobe.analysis.presentation.presentation import Draw, NamedFigure
from calprobe.analysis.run_names import MayBePart, states_of

JOINT = "runs"  # in place of a run's name, in figures of several runs
NAME_WIDTH = 100  # most characters of a run in a file's name: file systems allow 255 bytes


def names_of_runs(runs: Iterable[MayBePart], labels: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a `Look` that name the runs: the labels they were given, and which are not of everything."""
    several = list(runs)
    return {
        "labels": labels,
        "limited": frozenset(run.label for run in several if run.limited),
        "partial": frozenset(run.label for run in several if run.partial),
    }


def score_figures(contents: ReportContents, labels: Mapping[str, str]) -> Iterator[NamedFigure | str]:
    """The curves of each run of scores, then those that compare the runs; a str says which there are not, and why.

    Args:
        contents: of the report.
        labels: the names that `--label` gave to runs.
    """
    runs = contents.report.runs
    names, files = names_of_runs([run.facts for run in runs], labels), file_names([run.label for run in runs])
    drawn = []
    for run in runs:
        curves_of_run = list(contents.runs[run.label].figures())
        if not curves_of_run:
            yield f"{run.label}: no figures: the run has neither template 0 nor a paraphrase"
            continue
        drawn.append(run)
        yield from (_curves(files[run.label], curves, names) for curves in curves_of_run)
    if len({run.facts.questions for run in drawn}) > 1:
        yield "no figures of several runs: the runs differ in probe or instances"
    elif len(drawn) > 1:
        yield from (_curves(JOINT, curves, names) for curves in contents.joint_figures())
        for kind, fewest in contents.left_out():
            yield f"no figure {kind} of {len(drawn)} runs: it needs {fewest}"


def _curves(file: str, curves: Curves, names: Mapping[str, Any]) -> NamedFigure:
    def draw(look: Look) -> Any:
        return plot(curves, look=replace(look, **names))

    return NamedFigure(f"{file}.{curves.kind}", draw)


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
    if sizes := size_panels(report.across, states):
        yield "sizes", partial(draw_sizes, sizes)
    if kinds := kind_panels(studies, states):
        yield "labels", partial(draw_grouped_dots, kinds)
    if values := value_panels_of_runs(report.runs, states):
        yield "values", partial(draw_stacked_shares, values)
    if lengths := length_panels_of_runs(report.runs, states):
        yield "lengths", partial(draw_grouped_boxes, lengths)
    if designs := design_matrices(studies, states):
        yield "designs", partial(draw_matrices, designs)


def file_names(labels: Sequence[str]) -> dict[str, str]:
    """The name of each run in file names: its label, with a dash for each character that is not safe in a file name.

    Names of two runs differ in more than upper and lower case.

    >>> file_names(["runs/gpt2-bear/", "../my run", "../My run"])
    {'runs/gpt2-bear/': 'runs-gpt2-bear', '../my run': 'my-run', '../My run': 'My-run-2'}
    """
    taken, names = {JOINT}, {}
    for label in labels:
        plain = re.sub(r"[^\w.-]+", "-", label, flags=re.ASCII)[-NAME_WIDTH:].strip(".-") or "run"
        choices = (plain, *(f"{plain}-{at}" for at in range(2, len(labels) + 2)))
        names[label] = next(choice for choice in choices if choice.lower() not in taken)
        taken.add(names[label].lower())
    return names
