"""`calprobe report --plots DIR`: the figures that the runs allow, as files whose names say run and kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.terminal_text import say

if TYPE_CHECKING:
    from calprobe.analysis import Curves
    from calprobe.analysis.contents import ReportContents, RunContents

FORMATS = (".png", ".svg")  # to look at and to print; `calprobe curve --out F.pdf` writes a single PDF
JOINT = "runs"  # stands where a run's name does, in figures of several
NAME_WIDTH = 100  # characters of a run in a file's name: file systems take 255 bytes

plots_option = click.option(
    "--plots",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Draw the figures that each RUN allows, and those that compare several, as PNG and SVG into this folder.",
)


def write_plots(contents: ReportContents, folder: Path) -> None:
    """Draw the contents into the folder, and say on stderr what was written. Raises as `save`."""
    from calprobe.analysis.plots import plot, save

    for name, curves in _curves(contents):
        figure = plot(curves)
        for suffix in FORMATS:
            path = folder / f"{name}.{curves.kind}{suffix}"
            save(figure, path)
            say(f"wrote {path}")


def file_names(labels: Sequence[str]) -> dict[str, str]:
    """What each run is called in names of files: its label with a dash for all that a shell or a file system minds.

    Two runs never share a name, not even where large and small letters are one.

    >>> file_names(["runs/gpt2-bear/", "../my run", "../My run"])
    {'runs/gpt2-bear/': 'runs-gpt2-bear', '../my run': 'my-run', '../My run': 'My-run-2'}
    """
    taken, names = {JOINT}, {}
    for label in labels:
        plain = re.sub(r"[^\w.-]+", "-", label, flags=re.ASCII)[-NAME_WIDTH:].strip(".-") or "run"
        choices = (plain, *(f"{plain}-{at}" for at in range(2, len(labels) + 2)))
        names[label] = next(own for own in choices if own.lower() not in taken)
        taken.add(names[label].lower())
    return names


def _curves(contents: ReportContents) -> Iterator[tuple[str, Curves]]:
    """The curves one by one, each with what the run, or JOINT, is called in its file's name."""
    from calprobe.analysis.curves.results import AccuracyAce, AccuracyRejection
    from calprobe.confidence import Headline, headline

    runs = contents.report.runs
    names = file_names([run.label for run in runs])
    drawn: dict[str, RunContents] = {}
    for run in runs:
        found = contents.runs[run.label].only(headline(Headline.PAPER))
        if not found.calibration:
            say(f"{run.label}: no figures, it has neither template 0 nor a paraphrase")
            continue
        drawn[run.label] = found
        yield from ((names[run.label], curves) for curves in _of_run(found))
    if len({run.facts.questions for run in runs if run.label in drawn}) > 1:
        say("no figures of several runs: they are not all of the same probe and instances")
    elif len(drawn) > 1:
        lines = tuple(line for found in drawn.values() for line in found.rejection)
        votes = tuple(line for found in drawn.values() for line in found.votes)
        yield JOINT, AccuracyAce(contents.accuracy_ace, contents.correlations)
        yield JOINT, AccuracyRejection(lines, votes)


def _of_run(found: RunContents) -> Iterator[Curves]:
    from calprobe.analysis.curves.results import AccuracyRejection, Calibration, Exposure, Markers
    from calprobe.confidence import Headline, headline

    yield AccuracyRejection(found.rejection, found.votes)
    yield Calibration(found.only(headline(Headline.FIRST)).calibration)
    if found.markers:
        yield Markers(found.markers)
    if found.exposure:
        yield Exposure(found.exposure)
