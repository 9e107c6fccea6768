"""`calprobe runs`: the runs in a folder."""

from __future__ import annotations

from pathlib import Path

import click

from calprobe.cli.common import chosen_format, format_option, json_option


@click.command(short_help="List the runs in a folder.")
@click.argument("folder", metavar="[DIR]", default="runs", type=click.Path(path_type=Path))
@format_option
@json_option
def command(folder: Path, form: str | None, as_json: bool) -> None:
    """List the runs in DIR and its folders: model, probe, templates, how much is done, and the date.

    DIR is `runs` unless it is given. A run of scores is done as far as it has shards, which are not read; a run of
    replies as far as its requests have a reply. Runs with a damaged manifest are named with the reason.

    \b
        calprobe runs
        calprobe runs /data/experiments --format csv > runs.csv
    """
    from calprobe.analysis.tables.runs import run_list_tables
    from calprobe.cli.output import in_format, print_result
    from calprobe.runs.listing import list_runs

    form = chosen_format(form, as_json)
    print_result(in_format(form, list_runs(folder), run_list_tables, run_list_tables))
