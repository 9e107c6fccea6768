"""`calprobe report` of asked runs: options of its own, and what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from calprobe.cli.arguments import list_option
from calprobe.cli.figure_options import naming
from calprobe.cli.kinds import OF_CONFIDENCES, Group, option
from calprobe.cli.output import in_format, print_result, write_page
from calprobe.cli.terminal_text import say
from calprobe.errors import UsageError
from calprobe.messages import no_such
from calprobe.words import Calibrate

if TYPE_CHECKING:
    from calprobe.analysis.asked.options import AskedOptions
    from calprobe.analysis.asked.pictures import Drawn, Pictures
    from calprobe.analysis.asked.report import AskedReport
    from calprobe.analysis.asked.results import AskedRunReport
    from calprobe.analysis.asked.stated.pictures import StatedPictures
    from calprobe.analysis.marks import Drawable
    from calprobe.analysis.plots import Look
    from calprobe.analysis.tables import Table
    from calprobe.cells.opening import AnyRun

TABLES = (
    *(
        "answers",
        "confidence",
        "uncertainty",
        "slices",
        "wording",
        "budget",
        "stated",
        "means",
        "lengths",
        "form",
        "spread",
        "shift",
        "matrix",
        "across",
        "paper",
        "designs",
        "labels",
        "hides",
        "sampled",
    ),
    *("consistency", "correlation", "fidelity", "conditions", "reliability", "differences", "reversed", "models"),
)
readers_option = list_option(
    "--reader",
    "readers",
    kinds=("asked", "facts", "readings", *OF_CONFIDENCES),
    group=Group.WHICH,
    metavar="NAME,..",
    help="Readers of answers to choice questions, of last_marker, constrained, first_char and first_marker"
    " (the last two by the audit's rules); confidences go by the first. Numbers are read by number, open questions by"
    " short.  [default: last_marker,constrained; in the JSON first_char, too]",
)
variants_option = list_option(
    "--variants",
    kinds=("asked",),
    group=Group.WHICH,
    metavar="NAME,..",
    help="Only these variants of the prompts, as if no other had been asked.  [default: all]",
)
threshold_option = option(
    "--parse-threshold",
    kinds=("asked",),
    group=Group.WHICH,
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Cells that read fewer of their stated confidences leave means over variants, and curves.  [default: 0.8]",
)
calibrate_option = option(
    "--calibrate",
    kinds=("asked",),
    group=Group.WHAT,
    type=click.Choice(get_args(Calibrate)),
    help="Show uncertainties as confidences too, by a map fitted on other questions.",
)
budget_option = list_option(
    "--budget",
    kinds=("asked",),
    group=Group.WHAT,
    metavar="M,..",
    help="Draw plans of M answers, n_p wordings with n_s samples each, and compare their AUROC.",
)
draws_option = option(
    "--budget-draws",
    kinds=("asked",),
    group=Group.WHAT,
    type=click.IntRange(1),
    metavar="N",
    help="Draws of each plan of --budget.  [default: 5]",
)
original_option = option(
    "--with-original",
    kinds=("asked",),
    group=Group.WHICH,
    is_flag=True,
    help="Count the question's own text among its wordings, in plans of --budget and in the share of the"
    " wording.  [default: its paraphrases alone]",
)
window_option = option(
    "--window",
    kinds=("asked", "facts", *OF_CONFIDENCES),
    group=Group.WHICH,
    type=click.IntRange(1),
    metavar="TOKENS",
    help="See a label only among so many most probable tokens.  [default: all that the backend gave]",
)


@dataclass(frozen=True, slots=True)
class Shown:
    """What is to be shown of runs, and where."""

    form: str
    estimators: tuple[str, ...] | None
    metrics: tuple[str, ...] | None
    tables: tuple[str, ...] | None
    against: str | None  # published figures
    plots: Path | None
    look: Look
    page: Path | None


def report_asked_runs(
    opened: Mapping[str, AnyRun], named: Mapping[str, str], options: AskedOptions, shown: Shown
) -> None:
    """Print the report, and write figures and page where they are wanted."""
    from calprobe.analysis.asked.choice import choose_asked
    from calprobe.analysis.asked.pictures import pictures
    from calprobe.analysis.asked.report_asked import report_asked
    from calprobe.analysis.html import asked_page
    from calprobe.cells.opening import asked_runs, of_replies

    check_tables(shown, TABLES)
    found = report_asked(asked_runs(of_replies(opened)), options)
    few = choose_asked(found, shown.estimators, shown.metrics)

    def tables(report: AskedReport) -> list[Table]:
        return _tables(report, shown)

    print_result(in_format(shown.form, few, tables, tables))
    if shown.plots is None and shown.page is None:
        return
    drawn = {run.label: pictures(run, options) for run in found.runs}
    if shown.plots is not None:
        partial = {run.label for run in found.runs if run.partial}
        limited = {run.label for run in found.runs if run.limited}
        _write_figures(found.runs, drawn, shown.plots, naming(shown.look, named, limited, partial))
        _write_joint_figures(found, shown.plots, shown.look)
    if shown.page is not None:
        write_page(asked_page(few, drawn), shown.page)


def answers_of(budget: Sequence[str]) -> tuple[int, ...]:
    """The numbers of answers that --budget names. Raises UsageError for what is none."""
    for text in budget:
        if not (text.isascii() and text.isdigit()) or len(text) > 6:
            raise UsageError(f"--budget {text}: give numbers of answers to each question, such as 6,12")
    return tuple(dict.fromkeys(map(int, budget)))


def check_tables(shown: Shown, known: Sequence[str]) -> None:
    """Raise UsageError for `--tables` that names no table, or where there are none."""
    if shown.tables is not None and shown.form == "json":
        raise UsageError("--tables does not apply to JSON, which is one object; choose with --estimator and --metric")
    for name in shown.tables or ():
        if name not in known:
            raise UsageError(f"--tables: {no_such(name, known)}")


def tables_shown(every: Sequence[Table], shown: Shown, needs: str) -> list[Table]:
    """The tables that `--tables` names, or all. Raises UsageError where there is none, saying what some need."""
    found = [table for table in every if shown.tables is None or table.kind in shown.tables]
    if not found:
        raise UsageError(f"--tables {','.join(shown.tables or ())}: the report has no such table; {needs}")
    # A file of numbers leaves out a table of numbers that others have; alone it has them.
    return found if any(table.tidy for table in found) else [replace(table, tidy=True) for table in found]


def _tables(report: AskedReport, shown: Shown) -> list[Table]:
    from calprobe.analysis.tables.asked import asked_tables
    from calprobe.analysis.tables.asked.published import published_tables
    from calprobe.analysis.tables.asked.stated_models import models_tables

    every = [*asked_tables(report)]
    if report.stated is not None:
        every += models_tables(report.stated)
    if shown.against is not None:
        every += published_tables(shown.against, report)
    kinds = ", ".join(dict.fromkeys(table.kind for table in every))
    needs = "matrix needs several sets, across and models several runs, paper --against"
    return tables_shown(every, shown, f"it has {kinds}\n{needs}")


def _write_figures(runs: Sequence[AskedRunReport], drawn: Mapping[str, Pictures], folder: Path, look: Look) -> None:
    """The figures of each run, by its name in files; those of several side by side as of JOINT."""
    from calprobe.analysis.asked.stated.pictures import side_by_side
    from calprobe.analysis.curves.curve import Line
    from calprobe.analysis.plots.names import run_names
    from calprobe.cli.report_plots import JOINT, file_names

    names = run_names([Line(run.label, run.model, "", ()) for run in runs], look)
    files = file_names(list(drawn))
    every: list[tuple[str, str, Pictures | StatedPictures]] = [
        (files[label], names[label], own) for label, own in drawn.items()
    ]
    if several := side_by_side([(names[label], own.stated) for label, own in drawn.items() if own.stated is not None]):
        every.append((JOINT, "", several))
    for name, title, own in every:
        titled = replace(look, title=look.title if look.title is not None else title)
        for kind, draw in own.drawn():
            _write_figure(draw, folder / f"{name}.{kind}", titled)


def _write_joint_figures(report: AskedReport, folder: Path, look: Look) -> None:
    """The figures of several runs together, where there are any."""
    from calprobe.analysis.asked.answer_pictures import length_panels_of_runs, value_panels_of_runs
    from calprobe.analysis.asked.pictures import size_panels
    from calprobe.analysis.asked.science.pictures import design_matrices, kind_panels
    from calprobe.analysis.plots.paper import draw
    from calprobe.analysis.run_names import states_of
    from calprobe.cli.report_plots import JOINT

    studies, states = [run.labels for run in report.runs if run.labels is not None], states_of(report.runs)
    joint: dict[str, Sequence[Drawable]] = {
        "sizes": size_panels(report.across, states),
        "labels": kind_panels(studies, states),
        "values": value_panels_of_runs(report.runs, states),
        "lengths": length_panels_of_runs(report.runs, states),
        "designs": design_matrices(studies, states),
    }
    for kind, several in joint.items():
        if several:
            _write_figure(partial(draw, several), folder / f"{JOINT}.{kind}", look)


def _write_figure(draw: Drawn, path: Path, look: Look) -> None:
    """Write a figure in each format, and say so."""
    from calprobe.analysis.plots import drawing, save
    from calprobe.cli.report_plots import FORMATS

    with drawing(look.style):
        figure = draw(look)
    for suffix in FORMATS:
        save(figure, Path(f"{path}{suffix}"), look.style)
        say(f"wrote {path}{suffix}")
