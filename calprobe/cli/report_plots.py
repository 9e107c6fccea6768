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
    from calprobe.analysis.contents import ReportContents

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
    from calprobe.analysis.curves import plot
    from calprobe.analysis.plots import save

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
    runs = contents.report.runs
    names = file_names([run.label for run in runs])
    drawn = []
    for run in runs:
        figures = list(contents.runs[run.label].figures())
        if not figures:
            say(f"{run.label}: no figures, it has neither template 0 nor a paraphrase")
            continue
        drawn.append(run)
        yield from ((names[run.label], curves) for curves in figures)
    if len({run.facts.questions for run in drawn}) > 1:
        say("no figures of several runs: they are not all of the same probe and instances")
    elif len(drawn) > 1:
        yield from ((JOINT, curves) for curves in contents.joint_figures())
