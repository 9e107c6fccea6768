"""`calprobe report --plots DIR`: the figures of the runs, one file for each run and kind."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from calprobe.cli.arguments import output_folder
from calprobe.cli.kinds import Group, option
from calprobe.cli.terminal_text import say

if TYPE_CHECKING:
    from calprobe.analysis import Curves
    from calprobe.analysis.contents import ReportContents
    from calprobe.analysis.plots import Look

FORMATS = (".png", ".svg")  # to look at and to print; `calprobe curve --out F.pdf` writes a single PDF
JOINT = "runs"  # in place of a run's name, in figures of several runs
NAME_WIDTH = 100  # most characters of a run in a file's name: file systems allow 255 bytes

plots_option = option(
    "--plots",
    kinds=("scored", "asked"),
    group=Group.LOOKS,
    metavar="DIR",
    type=output_folder(),
    help="Write the figures of each RUN, and those that compare several, into this folder as PNG and SVG.",
)


def write_plots(contents: ReportContents, folder: Path, look: Look) -> None:
    """Write the figures into the folder and list the files on stderr. Raises the errors of `plot` and `save`."""
    from calprobe.analysis.curves import plot
    from calprobe.analysis.plots import save

    for name, curves in _curves(contents):
        figure = plot(curves, look=look)
        for suffix in FORMATS:
            path = folder / f"{name}.{curves.kind}{suffix}"
            save(figure, path, look.style)
            say(f"wrote {path}")


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
        names[label] = next(own for own in choices if own.lower() not in taken)
        taken.add(names[label].lower())
    return names


def _curves(contents: ReportContents) -> Iterator[tuple[str, Curves]]:
    """Each curve with the name of its run, or JOINT, in the name of its file."""
    runs = contents.report.runs
    names = file_names([run.label for run in runs])
    drawn = []
    for run in runs:
        figures = list(contents.runs[run.label].figures())
        if not figures:
            say(f"{run.label}: no figures: the run has neither template 0 nor a paraphrase")
            continue
        drawn.append(run)
        yield from ((names[run.label], curves) for curves in figures)
    if len({run.facts.questions for run in drawn}) > 1:
        say("no figures of several runs: the runs differ in probe or instances")
    elif len(drawn) > 1:
        yield from ((JOINT, curves) for curves in contents.joint_figures())
        for kind, fewest in contents.left_out():
            say(f"no figure {kind} of {len(drawn)} runs: it needs {fewest}")
