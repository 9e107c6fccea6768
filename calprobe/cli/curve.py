"""`calprobe curve`: one kind of curve of runs, as data or as a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.common import estimators_option, report_options
from calprobe.errors import UsageError

if TYPE_CHECKING:
    from calprobe.analysis import CurveOptions, Curves, ReportOptions

KINDS = ("accuracy-rejection", "calibration", "options", "accuracy-ace", "markers", "exposure")
DATA = (".csv", ".json", ".parquet")
FIGURES = (".png", ".svg", ".pdf")


def _with_known_suffix(_context: click.Context, _parameter: click.Parameter, path: Path) -> Path:
    """Look before anything is computed."""
    if path.suffix.lower() not in DATA + FIGURES:
        raise UsageError(f"--out {path}: the suffix says the format; give one of {', '.join(DATA + FIGURES)}")
    return path


@click.command(short_help="Write a curve of runs as a table or a figure.")
@click.argument("runs", metavar="RUN..", nargs=-1, required=True)
@click.option("--kind", required=True, type=click.Choice(KINDS), help="Which curve, see above.")
@estimators_option(
    "Whose confidences, as `report` names them.  [default: base,margin,average_vote_2,average_min; of options base and"
    " margin, of exposure base]"
)
@click.option(
    "--out",
    required=True,
    metavar="F.csv|json|parquet|png|svg|pdf",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=_with_known_suffix,
    help="The suffix says the format; a file is replaced.",
)
@report_options(formats=False, results="intervals and bands")
def command(
    runs: tuple[str, ...], kind: str, estimators: tuple[str, ...] | None, out: Path, options: ReportOptions
) -> None:
    """One kind of curve of each RUN, a folder that `score` or `import` made.

    \b
        calprobe curve runs/gpt2-bear --kind accuracy-rejection --out rejection.svg
        calprobe curve runs/gpt2-bear --kind calibration --estimator base,margin --out bins.csv

    \b
    accuracy-rejection  accuracy of the rest when the least confident are rejected
    calibration         accuracy against confidence, on the bins of ACE and ECE
    options             accuracy, confidence and ACE among 5, 10, .. answer options
    accuracy-ace        accuracy against ACE over the RUNs, with rank correlation
    markers             the plain statement against possibly, certainly, N %
    exposure            by how often a fact was told (tiny-clm and tiny-mlm alone)
    """
    from calprobe.analysis import CurveOptions
    from calprobe.analysis.curves.files import write_curves
    from calprobe.cli.logs import log_to_stderr
    from calprobe.heap import keep_freed_memory

    log_to_stderr()
    keep_freed_memory()
    found = _compute(kind, runs, CurveOptions(options, estimators))
    if out.suffix.lower() in FIGURES:
        from calprobe.analysis.plots import plot, save

        save(plot(found), out)
    else:
        write_curves(found, out)


def _compute(kind: str, runs: tuple[str, ...], options: CurveOptions) -> Curves:
    from calprobe.analysis import accuracy_ace, accuracy_rejection, calibration, exposure, markers, options_curve

    if kind == "exposure":
        return exposure(runs, _told(runs), options)
    functions: dict[str, Callable[[Sequence[str], CurveOptions], Curves]] = {
        "accuracy-rejection": accuracy_rejection,
        "calibration": calibration,
        "options": options_curve,
        "accuracy-ace": accuracy_ace,
        "markers": markers,
    }
    return functions[kind](runs, options)


def _told(runs: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """How often the models of all runs were told each fact: the tiny pair read one corpus."""
    from calprobe.models.exposures import exposure_counts
    from calprobe.runs import open_run

    told: dict[str, tuple[int, ...]] = {}
    for run in runs:
        manifest = open_run(run).manifest
        model = manifest.model
        told.update(exposure_counts(model.name, model.weights_fingerprint, manifest.probe.fingerprint))
    return told
