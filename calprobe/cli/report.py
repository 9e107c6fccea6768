"""`calprobe report`: what a run says of accuracy and calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from calprobe.cli.common import report_options

if TYPE_CHECKING:
    from calprobe.report import ReportOptions


@click.command(short_help="Show accuracy and calibration of runs.")
@click.argument("runs", metavar="RUN..", nargs=-1, required=True)
@report_options(or_all=True)
def command(runs: tuple[str, ...], options: ReportOptions, all_reductions: bool, as_json: bool) -> None:
    """Accuracy, confidence and calibration of each RUN, a folder that `score` or `import` made.

    \b
        calprobe report runs/smollm2-135m-mini
        calprobe report runs/gpt2-bear runs/opt-125m-bear --json > report.json
        calprobe report runs/gpt2-bear --reduction all

    With --reduction all: a table of accuracy, ACE of base, and the harmonic mean of accuracy and 1 - ACE under each
    reduction. Its JSON has, for each RUN, model, kind, probe, instances, partial, candidates, reductions {NAME:
    {accuracy, ace, harmonic_mean}}, best (the NAME of the highest harmonic mean) and unknown (those that an import
    lacks).
    """
    from calprobe.cli.logs import log_to_stderr
    from calprobe.cli.output import drawn, print_result, printed_json
    from calprobe.heap import keep_freed_memory
    from calprobe.report import compare_reductions, report
    from calprobe.report.reductions_terminal import print_reductions
    from calprobe.report.terminal import print_report

    log_to_stderr()
    keep_freed_memory()
    if all_reductions:
        compared = compare_reductions(runs, options)
        print_result(printed_json(compared) if as_json else drawn(print_reductions, compared))
    else:
        found = report(runs, options)
        print_result(printed_json(found) if as_json else drawn(print_report, found))
