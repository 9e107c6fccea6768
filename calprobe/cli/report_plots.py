"""`calprobe report --plots DIR`: the figures that the runs allow, as files whose names say run and kind."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.pages import told_of_runs
from calprobe.cli.shown import say

if TYPE_CHECKING:
    from calprobe.report import Curves, Report, ReportOptions, RunReport
    from calprobe.report.curves.exposure import Told

FORMATS = (".png", ".svg")  # to look at and to print; `calprobe curve --out F.pdf` writes a single PDF
BASE = "base"  # all figures need it
CALIBRATED = (BASE, "margin", "average_min")  # whose calibration is drawn, as far as a run has them
JOINT = "runs"  # stands where a run's name does, in figures of several
NAME_WIDTH = 100  # characters of a run in a file's name: file systems take 255 bytes

plots_option = click.option(
    "--plots",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Draw the figures that each RUN allows, and those that compare several, as PNG and SVG into this folder.",
)


def write_plots(found: Report, folder: Path) -> None:
    """Draw the reported runs into the folder, and say on stderr what was written. Raises as the curves and `save`."""
    from calprobe.report.plots import plot, save

    with _partial_runs_known():
        for name, curves in _curves(found):
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


@contextmanager
def _partial_runs_known() -> Iterator[None]:
    """The report has said which runs are partial; each of its curves need not say so again."""
    log = logging.getLogger("calprobe.report.curves")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _curves(found: Report) -> Iterator[tuple[str, Curves]]:
    """The curves one by one, each with what the run, or JOINT, is called in its file's name."""
    from calprobe.report import CurveOptions, accuracy_ace, accuracy_rejection

    names, told = file_names([run.label for run in found.runs]), told_of_runs(found)
    drawn = []
    for run in found.runs:
        if BASE not in _estimators(run):
            say(f"{run.label}: no figures, it has neither template 0 nor a paraphrase")
            continue
        drawn.append(run.label)
        yield from ((names[run.label], curves) for curves in _of_run(run, told.get(run.label), found.options))
    if len({run.questions for run in found.runs if run.label in drawn}) > 1:
        say("no figures of several runs: they are not all of the same probe and instances")
    elif len(drawn) > 1:
        yield JOINT, accuracy_ace(drawn, CurveOptions(found.options))
        yield JOINT, accuracy_rejection(drawn, CurveOptions(found.options))


def _of_run(run: RunReport, told: Told | None, options: ReportOptions) -> Iterator[Curves]:
    from calprobe.report import CurveOptions, accuracy_rejection, calibration, exposure, markers

    has = _estimators(run)
    yield accuracy_rejection(run.label, CurveOptions(options))
    yield calibration(run.label, CurveOptions(options, tuple(name for name in CALIBRATED if name in has)))
    if any(name.startswith("marker_") for name in has):
        yield markers(run.label, CurveOptions(options))
    if told:
        yield exposure(run.label, told, CurveOptions(options))


def _estimators(run: RunReport) -> set[str]:
    return {estimator.name for estimator in run.estimators}
