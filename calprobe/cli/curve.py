"""`calprobe curve`: one kind of curve of runs, as data or as a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calprobe.cli.arguments import output_file, refuse_overwriting, refuse_typed
from calprobe.cli.common import estimators_option, report_options
from calprobe.cli.figure_options import LOOKS, figure_options
from calprobe.cli.label_option import label_option
from calprobe.cli.option_kinds import CURVES, RUNS, Group, KindCommand, heading, option
from calprobe.cli.reply_options import threshold_option, variants_option
from calprobe.cli.terminal_text import explained_wait
from calprobe.cli.typed_runs import TypedRuns, open_typed
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.analysis import Curves, ReportOptions
    from calprobe.curves.curve import AccuracyOf
    from calprobe.show.plots import Look

COLUMNS = ("scores", "uncertainties", "correct")  # parameters of a table
OF_TABLES = (*COLUMNS, "runs", "kind", "out", "overlay", "bins", "bootstrap", "seed")
TABLE_KINDS = ("calibration", "accuracy-rejection", "utility")  # the kinds that tables of scores have
OF_REPLIES = (*TABLE_KINDS, "set-sizes")  # the kinds that runs of replies have


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What the command line says; None where it says nothing."""

    runs: tuple[str, ...]
    scores: tuple[str, ...]  # columns of tables
    uncertainties: tuple[str, ...]
    correct: str | None
    kind: str
    estimators: tuple[str, ...] | None
    out: Path
    labels: tuple[str, ...]
    accuracy: AccuracyOf | None
    among: int | None  # answer options
    variants: tuple[str, ...] | None
    threshold: float | None
    overlay: bool
    look: Look
    options: ReportOptions


class _ListsKinds(KindCommand):
    """A command with the kinds of curves at the end of its help."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from calprobe.curves import KINDS

        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl([(name, kind.description) for name, kind in KINDS.items()])


def _known_kind(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    """The name, if it is in KINDS; these are imported only when a name is given."""
    from calprobe.curves import KINDS

    if name not in KINDS:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(map(repr, KINDS))}.")
    return name


def _with_known_suffix(_context: click.Context, _parameter: click.Parameter, path: Path) -> Path:
    """Check the suffix before anything is computed."""
    from calprobe.curves.files import DATA_SUFFIXES
    from calprobe.show.plots import FIGURE_SUFFIXES

    suffixes = DATA_SUFFIXES + FIGURE_SUFFIXES
    if path.suffix.lower() not in suffixes:
        raise UsageError(f"--out {path}: the suffix sets the format; give one of {', '.join(suffixes)}")
    return path


@click.command(cls=_ListsKinds, kinds=(RUNS, CURVES), short_help="Write a curve of runs as a table or a figure.")
@click.argument("runs", metavar="RUN..|FILE", nargs=-1, required=True)
@heading(Group.WHAT)
@option(
    "--score", "scores", multiple=True, metavar="COLUMN", help="FILE: a column of scores, larger for surer answers."
)
@option("--uncertainty", "uncertainties", multiple=True, metavar="COLUMN", help="FILE: one that is smaller for them.")
@option("--correct", metavar="COLUMN", help="FILE: the column that says whether an answer is correct.")
@option("--kind", required=True, metavar="NAME", callback=_known_kind, help="The kind of curve, see above.")
@estimators_option(
    "Estimators, by their names in `report`.  [default: base,margin,average_vote_2,average_min; options: base,margin;"
    " exposure: base]"
)
@option(
    "--accuracy",
    kinds=("accuracy-ace",),
    type=click.Choice(("own", "base")),
    help="accuracy-ace: accuracy of each estimator's own answers, or of base's.  [default: own]",
)
@option(
    "--options",
    "among",
    kinds=("accuracy-ace",),
    type=click.IntRange(2),
    metavar="K",
    help="accuracy-ace: base and margin among K answer options of RUNs with more, the right one and others at random;"
    " sets RUNs of several probes side by side.  [default: all options]",
)
@report_options(formats=False, asked=True, results="intervals and bands")
@variants_option
@threshold_option
@heading(Group.LOOKS)
@option(
    "--out",
    required=True,
    metavar="F.csv|json|parquet|png|svg|pdf",
    type=output_file(),
    callback=_with_known_suffix,
    help="The suffix sets the format; an existing file is replaced.",
)
@label_option
@option(
    "--overlay",
    kinds=("calibration",),
    is_flag=True,
    help="calibration: a figure with all estimators of a RUN in one panel.",
)
@figure_options
def command(**typed: Any) -> None:
    """Write one kind of curve of each RUN, a folder from `score` or `import`; of `ask` the kinds calibration,
    accuracy-rejection, utility and set-sizes; of FILE, a .csv, .parquet or .jsonl table with a row for each answer,
    the first three.

    \b
        calprobe curve runs/gpt2-bear --kind accuracy-rejection --out rejection.svg
        calprobe curve runs/gpt2-bear --kind calibration --estimator base,margin --out bins.csv
        calprobe curve runs/*-bear --kind accuracy-ace --width single --title "" --out figure4.pdf
        calprobe curve runs/*-bear runs/*-factor --kind accuracy-ace --options 5 --out figure12.pdf
        calprobe curve answers.csv --score p --correct right --kind calibration --out reliability.svg
    """
    from calprobe.curves import KINDS, plot
    from calprobe.curves.files import write_curves
    from calprobe.interop.score_tables import is_table
    from calprobe.show.plots import FIGURE_SUFFIXES, save

    arguments, context = Typed(**typed), click.get_current_context()
    refuse_overwriting(arguments.out, arguments.runs)
    # Without resamples, --bootstrap 0 requests what such a kind gives.
    harmless = {"bootstrap"} if arguments.options.resampling.n_resamples == 0 else set()
    ignored = [name for name in KINDS[arguments.kind].ignores if name not in harmless]
    refuse_typed(context, ignored, f"does not apply to --kind {arguments.kind}; leave it out")
    CURVES.refuse(context, arguments.kind, f"this is --kind {arguments.kind}; leave it out")
    is_figure = arguments.out.suffix.lower() in FIGURE_SUFFIXES
    if not is_figure:
        refuse_typed(context, (*LOOKS, "overlay"), "applies to figures; give --out F.png, F.svg or F.pdf")
    names_of: Callable[[], dict[str, Any]] = dict
    if is_table(arguments.runs[0]):
        of_runs = [option.name for option in context.command.params if option.name not in (*OF_TABLES, *LOOKS)]
        refuse_typed(context, of_runs, "is of runs; leave it out")
        curves, overlaid = _of_table(arguments), True
    else:
        refuse_typed(context, COLUMNS, "is of a FILE; leave it out")
        runs = open_typed(arguments.runs, arguments.labels, RUNS, mixed="draw each kind by itself")
        with explained_wait(arguments.options.resampling.n_resamples):
            curves = _of_runs(arguments, runs)
        overlaid = arguments.overlay or runs.kind == "asked"
        if runs.kind == "scored":
            names_of = partial(_names, runs)
    if is_figure:
        look = replace(arguments.look, form="overlay" if overlaid else "panels", **names_of())
        save(plot(curves, look=look), arguments.out, look.style)
    else:
        write_curves(curves, arguments.out)


def _of_runs(arguments: Typed, runs: TypedRuns) -> Curves:
    """The curves of runs; of replies pooled over variants as in a report, or over some of them.

    Raises UsageError for another kind, which replies do not have, and for rules that change none of its curves.
    """
    from calprobe.analysis import CurveOptions, curve

    options = replace(arguments.options, variants=arguments.variants)
    if runs.kind == "asked":
        _check_kind(arguments.kind, OF_REPLIES, "of runs of replies")
        if options.compat == "stated2025":
            raise UsageError("--compat stated2025: changes errors in tables, and no curve; leave it out")
        if arguments.threshold is not None:
            options = replace(options, threshold=arguments.threshold)
    chosen = CurveOptions(options, arguments.estimators, arguments.accuracy or "own", arguments.among)
    return curve(runs.runs, arguments.kind, chosen)


def _names(runs: TypedRuns) -> dict[str, Any]:
    """How a figure names runs of scores, as fields of its look; their shards may be read for it."""
    from calprobe.cells.opening import of_scores

    scored = of_scores(runs.runs).items()
    limited = frozenset(label for label, run in scored if run.manifest.limits())
    return {
        "labels": runs.labels,
        "limited": limited,
        "partial": frozenset(label for label, run in scored if run.partial),
    }


def _check_kind(kind: str, kinds_there: Sequence[str], of: str) -> None:
    if kind not in kinds_there:
        kinds = " and ".join(f"--kind {known}" for known in kinds_there)
        raise UsageError(f"--kind {kind} is of runs of scores; {of} there are {kinds}")


def _of_table(arguments: Typed) -> Curves:
    """The curves of a table of scores. Raises UsageError for columns that are not named, and for several tables."""
    from calprobe.cells.table import table_cell
    from calprobe.curves.table_curves import table_calibration, table_rejection, table_utility
    from calprobe.interop.score_tables import read_scored_answers

    path, *others = arguments.runs
    if others:
        raise UsageError(f"{path}: a table stands alone; leave {others[0]} out")
    _check_kind(arguments.kind, TABLE_KINDS, "of a table")
    columns = (*arguments.scores, *arguments.uncertainties)
    if not columns or arguments.correct is None:
        raise UsageError(f"{path}: name its columns: --score or --uncertainty, and --correct")
    answers = read_scored_answers(Path(path), columns, arguments.correct)
    cell = table_cell(answers, Path(path).stem, arguments.uncertainties.__contains__)
    if arguments.kind == "calibration":
        return table_calibration(cell, arguments.options.ace_bins, arguments.options.resampling)
    of_kind = table_utility if arguments.kind == "utility" else table_rejection
    return of_kind(cell, arguments.options.resampling)
