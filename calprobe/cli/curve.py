"""`calprobe curve`: one kind of curve of runs, as data or as a figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from calprobe.cli.arguments import output_file, refuse_typed
from calprobe.cli.common import estimators_option, report_options
from calprobe.cli.curve_asked import curve_of_replies
from calprobe.cli.figure_options import LOOKS, figure_options, naming
from calprobe.cli.kinds import CURVES, RUNS, Group, KindCommand, heading, kind_of_runs, option
from calprobe.cli.labels import label_option, labelled
from calprobe.cli.report_asked import threshold_option, variants_option
from calprobe.errors import UsageError
from calprobe.words import AskedCompat

if TYPE_CHECKING:
    from calprobe.analysis import CurveOptions, Curves, ReportOptions
    from calprobe.analysis.curves.curve import AccuracyOf
    from calprobe.analysis.plots import Look
    from calprobe.runs import Run


class _ListsKinds(KindCommand):
    """A command with the kinds of curves at the end of its help."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from calprobe.analysis.curves import KINDS

        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_dl([(name, kind.description) for name, kind in KINDS.items()])


def _known_kind(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    """The name, if it is in KINDS; these are imported only when a name is given."""
    from calprobe.analysis.curves import KINDS

    if name not in KINDS:
        raise click.BadParameter(f"{name!r} is not one of {', '.join(map(repr, KINDS))}.")
    return name


def _with_known_suffix(_context: click.Context, _parameter: click.Parameter, path: Path) -> Path:
    """Check the suffix before anything is computed."""
    from calprobe.analysis.curves.files import DATA_SUFFIXES
    from calprobe.analysis.plots import FIGURE_SUFFIXES

    known = DATA_SUFFIXES + FIGURE_SUFFIXES
    if path.suffix.lower() not in known:
        raise UsageError(f"--out {path}: the suffix sets the format; give one of {', '.join(known)}")
    return path


@click.command(cls=_ListsKinds, kinds=(RUNS, CURVES), short_help="Write a curve of runs as a table or a figure.")
@click.argument("runs", metavar="RUN..", nargs=-1, required=True)
@heading(Group.WHAT)
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
@click.pass_context
def command(
    context: click.Context,
    *,
    runs: tuple[str, ...],
    kind: str,
    estimators: tuple[str, ...] | None,
    out: Path,
    labels: tuple[str, ...],
    accuracy: AccuracyOf | None,
    among: int | None,
    variants: tuple[str, ...] | None,
    parse_threshold: float | None,
    overlay: bool,
    look: Look,
    options: ReportOptions,
) -> None:
    """Write one kind of curve of each RUN, a folder from `score` or `import`; of `ask` the kind calibration.

    \b
        calprobe curve runs/gpt2-bear --kind accuracy-rejection --out rejection.svg
        calprobe curve runs/gpt2-bear --kind calibration --estimator base,margin --out bins.csv
        calprobe curve runs/*-bear --kind accuracy-ace --width single --title "" --out figure4.pdf
        calprobe curve runs/*-bear runs/*-factor --kind accuracy-ace --options 5 --out figure12.pdf
    """
    from dataclasses import replace

    from calprobe.analysis import CurveOptions
    from calprobe.analysis.curves import KINDS, plot
    from calprobe.analysis.curves.files import write_curves
    from calprobe.analysis.plots import FIGURE_SUFFIXES, save
    from calprobe.cells.opening import of_scores, open_runs
    from calprobe.cli.logs import log_to_stderr
    from calprobe.heap import keep_freed_memory

    # Without resamples, --bootstrap 0 requests what such a kind gives.
    harmless = {"bootstrap"} if options.resampling.n_resamples == 0 else set()
    ignored = [name for name in KINDS[kind].ignores if name not in harmless]
    refuse_typed(context, ignored, f"does not apply to --kind {kind}; leave it out")
    CURVES.refuse(context, kind, f"this is --kind {kind}; leave it out")
    drawn = out.suffix.lower() in FIGURE_SUFFIXES
    if not drawn:
        refuse_typed(context, (*LOOKS, "overlay"), "applies to figures; give --out F.png, F.svg or F.pdf")
    named = labelled(runs, labels)
    opened = open_runs(named)
    log_to_stderr()
    keep_freed_memory()
    kind_of, what_runs = kind_of_runs(opened, named)
    if kind_of == "mixed":
        raise UsageError(f"{what_runs}; draw each kind by itself")
    RUNS.refuse(context, kind_of, f"{what_runs}; leave it out")
    asked = kind_of == "asked"
    if asked:
        found: Curves = curve_of_replies(kind, opened, options, estimators, variants, parse_threshold)
    else:
        if options.compat in get_args(AskedCompat):
            raise UsageError(f"--compat {options.compat} is of runs of replies; leave it out")
        found = _compute(kind, of_scores(opened), CurveOptions(options, estimators, accuracy or "own", among))
    if drawn:
        if not asked:
            scored = of_scores(opened)
            limited = {name for name, run in scored.items() if run.manifest.limits()}
            look = naming(look, named, limited, {name for name, run in scored.items() if run.partial})
        look = replace(look, form="overlay" if overlay or asked else "panels")
        save(plot(found, look=look), out, look.style)
    else:
        write_curves(found, out)


def _compute(kind: str, runs: Mapping[str, Run], options: CurveOptions) -> Curves:
    from calprobe.analysis.curves import KINDS

    found = KINDS[kind]
    return found.compute(runs, _exposures(runs), options) if found.needs_exposures else found.compute(runs, options)


def _exposures(runs: Mapping[str, Run]) -> dict[str, tuple[int, ...]]:
    """How often each fact is in the training data of the runs' models: the tiny ones were told the same."""
    from calprobe.models.exposures import exposure_counts

    exposures: dict[str, tuple[int, ...]] = {}
    for run in runs.values():
        manifest, model = run.manifest, run.manifest.model
        exposures.update(exposure_counts(model.name, model.weights_fingerprint, manifest.probe.fingerprint))
    return exposures
