"""`calprobe compare`: differences between runs, with intervals and p-values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from calprobe.cli.arguments import joined_option
from calprobe.cli.common import estimators_option, report_options
from calprobe.cli.labels import label_option, labelled
from calprobe.cli.output import html_option, in_format, print_result, write_page

if TYPE_CHECKING:
    from calprobe.analysis import ReportOptions


@click.command(short_help="Show the differences between runs.")
@click.argument("runs", metavar="RUN RUN..", nargs=-1, required=True)
@joined_option(
    "--pairs",
    default="auto",
    metavar="auto|A:B,C:D",
    help="auto: the two RUNs; of more RUNs, each masked model with the causal model of the nearest BEAR score.",
)
@click.option(
    "--by-domain", is_flag=True, help="Show every domain, not only the one with the smallest difference in accuracy."
)
@click.option("--intersect", is_flag=True, help="Compare only the instances and templates that both runs have.")
@estimators_option("Estimators to compare, by their names in `report`.  [default: margin,average_min]")
@label_option
@html_option
@report_options(results="intervals and p-values", cluster="Draw complete relations, or instances within each relation.")
def command(
    runs: tuple[str, ...],
    pairs: str,
    by_domain: bool,
    intersect: bool,
    estimators: tuple[str, ...] | None,
    labels: tuple[str, ...],
    page: Path | None,
    options: ReportOptions,
    form: str,
) -> None:
    """Compare accuracy, Brier score and ACE of pairs of RUNs: differences, with intervals and corrected p-values.

    Any two runs with the same instances and templates: causal and masked, base and instruct, bf16 and fp32.

    \b
        calprobe compare runs/tiny-clm-mini runs/tiny-mlm-mini
        calprobe compare runs/*-bear --json > pairs.json
        calprobe compare runs/*-bear --html pairs.html
        calprobe compare runs/base runs/step-1000 runs/step-2000 --pairs step-1000:base,step-2000:base
    """
    from calprobe.analysis import CompareOptions, compare, named_pairs
    from calprobe.analysis.tables import comparison_tables, pair_tables
    from calprobe.cli.logs import log_to_stderr
    from calprobe.heap import keep_freed_memory

    named = labelled(runs, labels)
    log_to_stderr()
    keep_freed_memory()
    wanted = CompareOptions(
        pairs=None if pairs == "auto" else named_pairs(pairs, list(named)),
        intersect=intersect,
        by_domain=by_domain,
        estimators=estimators,
        scores=options,
    )
    found = compare(named, wanted)
    print_result(in_format(form, found, pair_tables, comparison_tables))
    if page is not None:
        from calprobe.analysis.html import comparison_page

        write_page(comparison_page(found), page)
