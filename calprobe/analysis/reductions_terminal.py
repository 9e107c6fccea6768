"""The table of reductions on a terminal or in a pipe."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from calprobe.analysis.figures import Columns
from calprobe.analysis.reductions import ReductionsReport, RunReductions
from calprobe.analysis.terminal import heading, print_against, print_lines, print_notes, score_notes
from calprobe.metrics import Estimate

COLUMNS = Columns(len("mean_answer"), ("accuracy", "ACE", "harmonic mean"))
HARMONIC_MEAN = (
    "Harmonic mean of accuracy and 1 - ACE (Kissling et al. 2026, appendix B), without interval; larger is better."
)


def print_reductions(report: ReductionsReport, console: Console) -> None:
    """Print a table for each run, then what holds for all of them."""
    for run in report.runs:
        print_lines([*heading(run.facts), Text(), *_table(run)], console)
        print_notes(reductions_remarks(run), console)
        print_against(run.against, console)
        console.print()
    print_notes([*score_notes("all", report.options), HARMONIC_MEAN], console, style="dim")


def _table(run: RunReductions) -> Iterable[Text]:
    yield COLUMNS.head("reduction")
    for numbers in run.reductions:
        value, *interval = COLUMNS.row(
            numbers.reduction, [numbers.accuracy, numbers.ace, Estimate(numbers.harmonic_mean)]
        )
        yield Text.assemble(value, (" best", "bold") if numbers.reduction == run.best else "")
        yield from interval


def reductions_remarks(run: RunReductions) -> Iterable[str]:
    """Which template the numbers are of, and what a run does not have."""
    if run.template is None:
        yield "no accuracy: the run has neither template 0 nor a paraphrase"
    else:
        yield f"base: template {run.template}"
    if run.unknown:
        yield f"not known to this import: {', '.join(run.unknown)}"
